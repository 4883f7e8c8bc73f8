"""Quantization of the weights of a single layer: scales, rounding, bias correction."""
