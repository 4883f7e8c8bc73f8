"""When each operator runs, and where each tensor lives while it is needed."""

from .memory import Buffer, Layout, place
from .schedule import schedule

__all__ = ["Buffer", "Layout", "place", "schedule"]
