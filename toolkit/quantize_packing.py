"""What a quantization becomes in a file: weights as coarse as their code may have them, bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from .build import Kept, build_file
from .compress import codes, remove_constant_channels, store_weights
from .format.model import Provenance
from .format.strip import strip
from .hand_over import handed_over
from .ir import Graph
from .model_files import as_text
from .numerics import W8A8
from .quantize import Budget
from .quantize import Quantized as QuantizedModel
from .quantize.equalization.cross_layer import to_text
from .quantize.mixed_precision.evaluator import Drop, Measure, Pack
from .quantize.rates.search import Rates, RateSearch
from .quantize_request import QuantizeRequest


def packer(
    request: QuantizeRequest,
    provenance: Provenance,
    options: Mapping[str, Any],
    layout: str,
    done: QuantizedModel,
    kept: Kept | None = None,
) -> Callable[[Graph], bytes]:
    """What makes files of graphs, which lose constant channels; `kept` are left of such as have
    lost some before. `options` are said in `provenance`; `layout` is that of samples."""
    how = dict(options)
    if done.exponents:
        how["equalized"] = to_text(done.exponents)
    if done.shifts:
        how["absorbed"] = to_text(done.shifts)
    made = replace(provenance, options=as_text(how))

    def packed(graph: Graph) -> bytes:
        gone = remove_constant_channels(graph)
        store_weights(graph, request.compress)
        held = handed_over(graph, request.hand_over, layout)
        return build_file(held, made, {**(kept or {}), **gone})

    return packed


def at_rates(
    request: QuantizeRequest,
    done: QuantizedModel,
    pack: Pack,
    budget: Budget | None,
    drop: Drop | None,
    measure: Measure,
) -> tuple[QuantizedModel, Rates | None]:
    """`done` with weights as coarse as may be, for the code that `pack` stores them in; with bits
    that are asked for, or the nearest integers, they stay what they are."""
    how = request.compress
    if how == "fast" or request.mixed_rounding == "nearest" or request.weights != W8A8:
        return done, None
    return RateSearch(
        done,
        lambda graph: strip(pack(graph)),
        lambda node: codes(node, how),
        request.progress,
        budget,
        drop,
        measure,
    ).run()
