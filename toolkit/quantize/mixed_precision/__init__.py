"""int16, float32 and 4-bit weights where they pay, within the limits of a budget."""
