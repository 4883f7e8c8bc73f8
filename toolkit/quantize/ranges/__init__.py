"""Ranges of activations: statistics on the samples, and the search by what outputs lose."""
