"""Passes that recognize operators written out in parts."""
