"""Rate-distortion allocation: the weight step of each layer for an entropy code."""
