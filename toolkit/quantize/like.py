"""Reuse of scales and integers of an older file, so that the update to the new file is small.

Further training changes weights by little. With unchanged scales most integers stay the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..errors import UserError
from ..fixed_point import real_ratio
from ..format.model import EdgeModel, OpRecord, is_variant
from ..format.schema import DType, OpKind
from ..format.tables import table_of
from ..progress import Progress
from ..weight_codecs import stored_int8
from .equalization.bias_absorption import Shifts, absorbed
from .equalization.bias_absorption import from_text as shifts_from_text
from .equalization.cross_layer import Exponents, equalized, from_text
from .float_source import FloatSource
from .outputs.kept_samples import Sample
from .ranges.calibration import Calibration, calibrate
from .ranges.range_search import fixed_ranges
from .scheme.options import Range, Ranges
from .weights.layer_weights import KeptWeights

WEIGHTED = (OpKind.Conv2d, OpKind.FullyConnected)
LEAST, MOST = 0.5, 1.5
"""An older range is kept if its width relative to the new one is between these."""


@dataclass(frozen=True, eq=False)
class Like:
    """Ranges of int8 tensors and weights of int8 layers of a file, by tensor name, and its
    equalization (`exponents`) and bias absorption (`shifts`)."""

    ranges: Ranges = field(default_factory=dict)
    layers: Mapping[str, KeptWeights] = field(default_factory=dict)
    exponents: Exponents = field(default_factory=dict)
    shifts: Shifts = field(default_factory=dict)

    @staticmethod
    def of(model: EdgeModel, source: str) -> Like:
        """Read them from a generic file with names. Raises UserError for other files."""
        if model.target != "generic" or not all(op.name for op in model.ops):
            raise UserError(
                f"{source} has no operator names, or is packed for a target; --like needs a file "
                "written by quantize without --strip"
            )
        names = {io.tensor: io.name for io in model.inputs}
        names |= {op.outputs[0]: op.name for op in model.ops}
        ranges: dict[str, Range] = {}
        for i, name in names.items():
            t = model.tensors[i]
            if t.dtype is DType.Int8 and t.scale > 0:
                low, high = (t.scale * (q - t.zero_point) for q in (-128, 127))
                ranges[name] = low, high
        said = model.provenance.settings
        return Like(
            ranges,
            dict(_layers(model)),
            from_text(said["equalized"]) if "equalized" in said else {},
            shifts_from_text(said["absorbed"]) if "absorbed" in said else {},
        )

    def source(
        self, now: FloatSource, inputs: Iterable[Sample], progress: Progress | None
    ) -> FloatSource:
        """`now` with the equalization of the file. Raises UserError if it does not fit."""
        if not self.exponents and not self.shifts:
            return now
        try:
            floats = absorbed(equalized(now.floats, self.exponents), self.shifts)
        except ValueError as why:
            raise UserError(f"the file of --like is of another model: {why}") from why
        known = calibrate(floats, inputs, progress)
        return FloatSource.of(floats, known, self.exponents, self.shifts)

    def over(self, calibration: Calibration, observer: str) -> dict[str, Range]:
        """The ranges of an observer, replaced by those of the file if the width is similar."""
        ranges = fixed_ranges(calibration, observer)
        found = dict(ranges)
        for name in ranges.keys() & self.ranges.keys():
            (low, high), kept = ranges[name], self.ranges[name]
            now = max(high, 0.0) - min(low, 0.0)
            if now > 0 and LEAST < (kept[1] - kept[0]) / now < MOST:
                found[name] = kept
        return found


def _layers(model: EdgeModel) -> Iterator[tuple[str, KeptWeights]]:
    for i, op in enumerate(model.ops):
        x, y = (model.tensors[at[0]] for at in (op.inputs, op.outputs))
        if op.kind in WEIGHTED and x.dtype is y.dtype is DType.Int8 and i not in model.pruned:
            table = table_of(op.kind, DType.Int8, op.params, model.blob)
            ratio = real_ratio(table.multiplier, table.shift)
            yield op.name, KeptWeights(ratio * y.scale / x.scale, _integers(op, model.blob))


def _integers(op: OpRecord, blob: bytes) -> NDArray[np.float64]:
    """[n, k], as the quantizer has them."""
    flat = stored_int8(op.kind, op.params, blob).astype(np.float64)
    n = int(op.params["n" if op.kind == OpKind.FullyConnected else "geometry.out_c"])
    if is_variant(op.kind, op.params, DType.Int8):
        return np.ascontiguousarray(flat.reshape(-1, n).T)
    return flat.reshape(n, -1)
