"""Passes for graphs to be quantized, whose values are finite."""
