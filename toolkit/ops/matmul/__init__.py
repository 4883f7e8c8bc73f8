"""Matrix products: FullyConnected by constant weights, MatMul of two tensors."""
