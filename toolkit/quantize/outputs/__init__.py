"""What the outputs of a model are, and what of them a quantized model is judged by."""
