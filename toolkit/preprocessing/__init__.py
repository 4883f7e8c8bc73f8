"""How the inputs of a model are made of what a camera gives: recorded in the file, and applied."""

from .pixels import FORMATS, Format, to_rgb
from .presets import PRESETS, preset
from .record import (
    CLASSES,
    KEY,
    Preprocessing,
    agreed,
    class_names,
    described,
    options_of,
    preprocessing_of,
)

__all__ = [
    "CLASSES",
    "FORMATS",
    "KEY",
    "PRESETS",
    "Format",
    "Preprocessing",
    "agreed",
    "class_names",
    "described",
    "options_of",
    "preprocessing_of",
    "preset",
    "to_rgb",
]
