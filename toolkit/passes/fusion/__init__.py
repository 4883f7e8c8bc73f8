"""Passes that fold arithmetic, padding and activations into neighbouring operators."""
