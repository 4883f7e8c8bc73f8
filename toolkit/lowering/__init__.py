"""From nodes to the operators, tensors and constants of a file."""
