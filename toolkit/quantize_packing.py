"""What a quantization becomes in a file: weights as coarse as their code may have them, bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from .build import Kept, build_file
from .compress import (
    Coding,
    StoredLayer,
    coarse_weights,
    most_within,
    remove_constant_channels,
    store_weights,
    stored_layers,
)
from .files import read_edge
from .format.model import Provenance
from .format.reader import read
from .format.strip import strip
from .hand_over import handed_over
from .ir import Graph
from .model_files import as_text
from .needs import Devices
from .numerics import W8A8
from .ops.convert.fake_quantize import arrives_quantized
from .quantize import Quantized as QuantizedModel
from .quantize.equalization.cross_layer import to_text
from .quantize.like import Like
from .quantize.mixed_precision.evaluator import Drop, Pack
from .quantize.rates.search import Rates, RateSearch
from .quantize_request import QuantizeRequest

ROOM = 0.995
"""Of a limit on instructions, what is filled with decoding by figures of other weights."""


def kept_scales(path: str | Path | None) -> tuple[Like | None, dict[str, Any]]:
    """What a quantization keeps of the older file at `path`, and what provenance says of it."""
    if path is None:
        return None, {}
    data = read_edge(path)
    return Like.of(read(data), str(path)), {"like": sha256(data).hexdigest()}


def packer(
    request: QuantizeRequest,
    provenance: Provenance,
    options: Mapping[str, Any],
    layout: str,
    done: QuantizedModel,
    coding: Coding,
    kept: Kept | None = None,
) -> Callable[[Graph], bytes]:
    """What makes files of graphs, which lose constant channels; `kept` are left of such as have
    lost some before. `options` are said in `provenance`; `layout` is that of samples; `coding` may
    change between two files."""
    how = dict(options)
    if done.exponents:
        how["equalized"] = to_text(done.exponents)
    if done.shifts:
        how["absorbed"] = to_text(done.shifts)
    made = replace(provenance, options=as_text(how))

    def packed(graph: Graph) -> bytes:
        gone = remove_constant_channels(graph)
        store_weights(graph, coding)
        held = handed_over(graph, request.hand_over, layout)
        return build_file(held, made, {**(kept or {}), **gone})

    return packed


def at_rates(
    request: QuantizeRequest,
    done: QuantizedModel,
    pack: Pack,
    drop: Drop | None,
    devices: Devices,
    coding: Coding,
) -> tuple[QuantizedModel, Rates | None]:
    """`done` with weights as coarse as may be, for the code that `pack` stores them in as `coding`
    says; with bits that are asked for, the nearest integers, or those that the model arrives with,
    they stay what they are.

    With a limit on instructions, layers are first taken out of `coding` that it has no room for.
    """
    budget = devices.budget if devices.budget.limits_any else None
    if coding.how != "fast" and budget is not None and budget.max_instructions is not None:
        coding.plain = _too_slow(done, pack, devices, coding)
    as_given = request.mixed_rounding == "nearest" or request.weights != W8A8
    if coding.how == "fast" or as_given or arrives_quantized(done.floats):
        return done, None
    return RateSearch(
        done,
        lambda graph: strip(pack(graph)),
        coding.wants,
        request.progress,
        budget,
        drop,
        devices.sizes,
    ).run()


def _too_slow(done: QuantizedModel, pack: Pack, devices: Devices, coding: Coding) -> frozenset[str]:
    """The layers whose decoding takes an inference over the limit on some device: others have the
    most weights together that it has room for."""
    graph, _ = done.plan.emit(done.ranges)
    weights = coding.candidates(graph)
    coarse_weights(graph, coding)
    coded = pack(graph)
    costs = devices.decoding(_uncoded(done, pack, coding), coded)
    most = devices.budget.max_instructions
    assert most is not None

    room = [max(most * ROOM - c.total, 0.5) for c in costs]
    share = {
        name: max(c.more.get(name, 0) / r for c, r in zip(costs, room, strict=True))
        for name in weights
    }
    return frozenset(weights) - most_within(weights, share)


def _uncoded(done: QuantizedModel, pack: Pack, coding: Coding) -> bytes:
    """The file of `done` with no weights in a code."""
    graph, _ = done.plan.emit(done.ranges)
    before, coding.plain = coding.plain, coding.plain | coding.candidates(graph).keys()
    data = pack(graph)
    coding.plain = before
    return data


def layers_stored(
    done: QuantizedModel,
    data: bytes,
    pack: Pack,
    devices: Devices,
    coding: Coding,
    rates: Rates | None,
) -> list[StoredLayer]:
    """What weights behind codecs take in the file `data` of `done`, and what they cost."""
    counted: dict[str, dict[str, int]] = {}
    noise = {} if rates is None else rates.layer_sqnr_db
    if devices.counts and any("storage" in n.attrs for n in done.graph.nodes):
        for cost in devices.decoding(_uncoded(done, pack, coding), data):
            for name, more in cost.more.items():
                counted.setdefault(name, {})[cost.target] = more
    return stored_layers(done.graph, noise, counted)
