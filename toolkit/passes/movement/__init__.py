"""Passes over transposes, reshapes and copies."""
