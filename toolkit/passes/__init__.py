"""The rewrites of a float graph, in order. Each keeps the meaning and is verified."""

from __future__ import annotations

from ._links import OTHER_LAYOUT
from ._pass import Pass, UntilQuiet, run_passes
from .absorb_permutation import AbsorbPermutation
from .common_subexpressions import CommonSubexpressions
from .dead_code import DeadCode
from .drop_expand import DropExpand
from .finite_masks import FiniteMasks
from .fold_affine import FoldAffine
from .fold_affine_forward import FoldAffineForward
from .fold_constants import FoldConstants
from .fuse_activation import FuseActivation
from .fuse_pad import FusePad
from .half_rounding import HalfRounding
from .layer_norm import LayerNormParts
from .layout import Layout
from .mean_of_sum import MeanOfSum
from .merge_affine import MergeAffine
from .merge_movement import MergeMovement
from .merge_parts import MergeParts
from .merge_reshapes import MergeReshapes
from .merge_transposes import MergeTransposes
from .norm_shape import NormShape
from .one_hot import OneHot
from .own_outputs import OwnOutputs
from .products import Products
from .scale_layer_norm import ScaleLayerNorm
from .softmax import SoftmaxParts
from .unit_axes import UnitReshapes, UnitTransposes
from .unless_nan import UnlessNan
from .unread_outputs import UnreadOutputs

__all__ = ["DEFAULT", "FINITE", "OTHER_LAYOUT", "QUANTIZED", "Pass", "UntilQuiet", "run_passes"]

_CLEANING: tuple[Pass, ...] = (
    DeadCode(),
    UnreadOutputs(),
    CommonSubexpressions(),
    FoldConstants(),
)

DEFAULT: tuple[Pass, ...] = (
    UntilQuiet(
        "transposes cancel",
        (
            *_CLEANING,
            DropExpand(),
            MergeReshapes(),
            UnitReshapes(),
            NormShape(),
            MergeTransposes(),
            Layout(),
        ),
    ),
    UntilQuiet(
        "arithmetic is folded",
        (
            *_CLEANING,
            OneHot(),
            Products(),
            SoftmaxParts(),
            MeanOfSum(),
            LayerNormParts(),
            ScaleLayerNorm(),
            MergeAffine(),
            FoldAffine(),
            FoldAffineForward(),
            FusePad(),
            FuseActivation(),
        ),
    ),
    UntilQuiet(
        "movement is merged",
        (
            *_CLEANING,
            UnitTransposes(),
            MergeReshapes(),
            AbsorbPermutation(),
            MergeMovement(),
            MergeParts(),
        ),
    ),
    OwnOutputs(),
    DeadCode(),
)

FINITE: tuple[Pass, ...] = (
    UntilQuiet("values are finite", (*_CLEANING, UnlessNan(), FiniteMasks())),
    DeadCode(),
)
"""Behind DEFAULT, of a graph to be quantized: integers hold neither NaN nor infinity. What is equal
then is what the samples of a calibration can tell: attention that masks a whole row is not."""

QUANTIZED: tuple[Pass, ...] = (HalfRounding(), *DEFAULT, *FINITE)
"""Of a graph to be quantized."""
