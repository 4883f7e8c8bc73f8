"""The rewrites of a float graph, in order. Each keeps the meaning and is verified."""

from __future__ import annotations

from ._links import OTHER_LAYOUT
from ._pass import Pass, UntilQuiet, run_passes
from .cleanup.common_subexpressions import CommonSubexpressions
from .cleanup.dead_code import DeadCode
from .cleanup.fold_constants import FoldConstants
from .cleanup.own_outputs import OwnOutputs
from .cleanup.unread_outputs import UnreadOutputs
from .fusion.fold_affine import FoldAffine
from .fusion.fold_affine_forward import FoldAffineForward
from .fusion.fuse_activation import FuseActivation
from .fusion.fuse_pad import FusePad
from .fusion.mean_of_sum import MeanOfSum
from .fusion.merge_affine import MergeAffine
from .movement.absorb_permutation import AbsorbPermutation
from .movement.drop_expand import DropExpand
from .movement.layout import Layout
from .movement.merge_movement import MergeMovement
from .movement.merge_parts import MergeParts
from .movement.merge_reshapes import MergeReshapes
from .movement.merge_transposes import MergeTransposes
from .movement.norm_shape import NormShape
from .movement.parts_of_concat import PartsOfConcat
from .movement.transposed_product import TransposedProduct
from .movement.unit_axes import UnitReshapes, UnitTransposes
from .quantized.finite_masks import FiniteMasks
from .quantized.half_rounding import HalfRounding
from .quantized.norms import Magnitudes, UnitLength
from .quantized.unless_nan import UnlessNan
from .recognition.layer_norm import LayerNormParts
from .recognition.leaf_functions import LeafFunctions
from .recognition.one_hot import OneHot
from .recognition.products import Products
from .recognition.scale_layer_norm import ScaleLayerNorm
from .recognition.softmax import SoftmaxParts
from .recognition.sums_of_elements import SumsOfElements

__all__ = [
    "DEFAULT",
    "FINITE",
    "OTHER_LAYOUT",
    "QUANTIZED",
    "LeafFunctions",
    "Pass",
    "UntilQuiet",
    "run_passes",
]

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
            PartsOfConcat(),
            MergeReshapes(),
            UnitReshapes(),
            NormShape(),
            MergeTransposes(),
            TransposedProduct(),
            DeadCode(),  # Layout would price Transposes that nobody reads any more
            Layout(),
        ),
    ),
    UntilQuiet(
        "arithmetic is folded",
        (
            *_CLEANING,
            SumsOfElements(),
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
    UntilQuiet(
        "values are finite",
        (*_CLEANING, UnlessNan(), FiniteMasks(), UnitLength(), Magnitudes()),
    ),
    DeadCode(),
)
"""Behind DEFAULT, of a graph to be quantized: integers hold neither NaN nor infinity. What is equal
then is what the samples of a calibration can tell: attention that masks a whole row is not."""

QUANTIZED: tuple[Pass, ...] = (HalfRounding(), *DEFAULT, *FINITE)
"""Of a graph to be quantized."""
