"""Conversions between element types and precisions."""
