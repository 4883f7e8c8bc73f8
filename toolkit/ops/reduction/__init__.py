"""Pooling, reductions over axes, and selection along an axis."""
