"""Weights rounded layer by layer, so that each layer's output stays close to the float model's."""
