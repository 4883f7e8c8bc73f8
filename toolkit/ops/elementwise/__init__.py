"""Functions of one or several elements at the same place, and lookup tables."""
