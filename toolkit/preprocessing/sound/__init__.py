"""Front ends for sound: int16 samples to log-mel or MFCC features, in integers."""

from .arithmetic import features, frames_in, real_features, samples_for
from .front_end import PRESETS, FrontEnd, parse
from .record import SoundPreprocessing, SoundReader, fitting
from .tables import FRACTION, Tables, tables_of

__all__ = [
    "FRACTION",
    "PRESETS",
    "FrontEnd",
    "SoundPreprocessing",
    "SoundReader",
    "Tables",
    "features",
    "fitting",
    "frames_in",
    "parse",
    "real_features",
    "samples_for",
    "tables_of",
]
