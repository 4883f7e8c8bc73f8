"""Models whose dimensions vary within bounds: which, and the file of them."""

from .derive import varying_model
from .means import Counts, varying_counts, with_means
from .sizes import Dims, Range, Shapes, Sizes, sizes_asked

__all__ = [
    "Counts",
    "Dims",
    "Range",
    "Shapes",
    "Sizes",
    "sizes_asked",
    "varying_counts",
    "varying_model",
    "with_means",
]
