"""Mixed precision: int16, float32 and 4-bit weights within the limits of a budget."""
