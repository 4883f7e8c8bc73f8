"""Models whose dimensions vary within bounds: which, and the file of them."""

from .derive import varying_model
from .sizes import Dims, Range, Shapes, Sizes, sizes_of, varies

__all__ = ["Dims", "Range", "Shapes", "Sizes", "sizes_of", "varies", "varying_model"]
