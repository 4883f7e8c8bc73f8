"""Operators that move elements: views, copies, Concat, Pad, Gather, Resize."""
