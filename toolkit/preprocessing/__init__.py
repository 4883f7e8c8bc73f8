"""How inputs are made of what a camera or microphone gives: recorded in the file, and applied."""

from .pixels import FORMATS, Format, to_rgb
from .presets import PRESETS, preset
from .record import (
    CLASSES,
    KEY,
    Preprocessing,
    Reading,
    Record,
    agreed,
    class_names,
    described,
    options_of,
    preprocessing_of,
)
from .sound import PRESETS as SOUND_PRESETS
from .sound import FrontEnd, SoundPreprocessing, SoundReader
from .sound import parse as front_end

__all__ = [
    "CLASSES",
    "FORMATS",
    "KEY",
    "PRESETS",
    "SOUND_PRESETS",
    "Format",
    "FrontEnd",
    "Preprocessing",
    "Reading",
    "Record",
    "SoundPreprocessing",
    "SoundReader",
    "agreed",
    "class_names",
    "described",
    "front_end",
    "options_of",
    "preprocessing_of",
    "preset",
    "to_rgb",
]
