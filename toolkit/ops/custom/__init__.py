"""Operators of the user's."""
