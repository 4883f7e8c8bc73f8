"""Arrays in, ranges out: samples to feed a model, and what its tensors were seen to hold."""

from .array_shapes import array_shapes
from .array_statistics import channel_extremes, channel_means, median
from .conform import numbers_of
from .dataset import Feed, Samples, SampleSource, open_samples
from .errors import CalibrationError
from .filed_arrays import ArrayFile, FiledArrays, FiledRows
from .labels import Labels, find_labels, load_labels, load_others
from .least_error import quantization_error
from .observers import DEFAULT_BINS, TensorStats
from .ranges import (
    BY_EXTREMES,
    OBSERVERS,
    Range,
    candidates,
    entropy,
    minmax,
    moving_average,
    mse,
    percentile,
)
from .readers.arrays import load_array, load_arrays
from .readers.images import scale_pixels
from .resizing import fitted
from .specs import FITS, Fit, ImageOptions, InputSpec, Sound

__all__ = [
    "BY_EXTREMES",
    "DEFAULT_BINS",
    "FITS",
    "OBSERVERS",
    "ArrayFile",
    "CalibrationError",
    "Feed",
    "FiledArrays",
    "FiledRows",
    "Fit",
    "ImageOptions",
    "InputSpec",
    "Labels",
    "Range",
    "SampleSource",
    "Samples",
    "Sound",
    "TensorStats",
    "array_shapes",
    "candidates",
    "channel_extremes",
    "channel_means",
    "entropy",
    "find_labels",
    "fitted",
    "load_array",
    "load_arrays",
    "load_labels",
    "load_others",
    "median",
    "minmax",
    "moving_average",
    "mse",
    "numbers_of",
    "open_samples",
    "percentile",
    "quantization_error",
    "scale_pixels",
]
