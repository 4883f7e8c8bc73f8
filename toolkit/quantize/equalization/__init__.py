"""Channels made alike before quantization: cross-layer equalization and bias absorption."""
