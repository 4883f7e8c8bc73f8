"""Operators with graphs inside, and the borders of these in a file."""
