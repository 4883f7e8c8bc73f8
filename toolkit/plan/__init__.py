"""When each operator runs, and where each tensor lives while it is needed."""

from .memory import TRIES, Buffer, Layout, place, place_with_scratch
from .schedule import schedule

__all__ = ["TRIES", "Buffer", "Layout", "place", "place_with_scratch", "schedule"]
