"""Weights of one layer as integers: scales, rounding, bias correction. Knows no other layer."""
