"""If, Loop and Scan: folded, unrolled, or with graphs inside."""

from .flow import CONTROL, ControlFlow

__all__ = ["CONTROL", "ControlFlow"]
