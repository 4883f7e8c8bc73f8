"""Quantized ONNX models: tensors on a grid, and operators on integers between Q and DQ."""
