"""When each operator runs, and where each tensor lives while it is needed."""

from .memory import TRIES, Buffer, Layout, place
from .placed import ARENA_ALIGN, placed
from .schedule import schedule

__all__ = ["ARENA_ALIGN", "TRIES", "Buffer", "Layout", "place", "placed", "schedule"]
