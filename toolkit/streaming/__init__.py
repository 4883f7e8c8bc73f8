"""A model of whole sequences -> one that takes a few frames and keeps what it needs of the past.

Of every tensor with a time axis the streaming graph makes `frames` at each step. At step s they are
the frames [s * frames - delay, ...) of the whole sequence's; those before 0 mean nothing.
"""

from .graph import Axes, Streaming, check_frames, stream, time_axes
from .playback import Cut, Playback, Played
from .timing import Timing

__all__ = [
    "Axes",
    "Cut",
    "Playback",
    "Played",
    "Streaming",
    "Timing",
    "check_frames",
    "stream",
    "time_axes",
]
