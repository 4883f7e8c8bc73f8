"""Preparation of a model before quantization: cross-layer equalization and bias absorption."""
