"""What a quantization becomes in a file: weights as coarse as their code may have them, bytes; of a
model whose dimensions vary, at all its sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..calibration import Samples
from . import dynamic
from .accuracy import OwnRuntime
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
from .errors import UserError
from .evaluation.sized_samples import SizedSamples
from .files import read_edge
from .format.model import Provenance
from .format.reader import read
from .format.strip import strip
from .format.writer import write
from .hand_over import handed_over
from .ir import Graph
from .model_files import Shapes, as_text, load
from .needs import Devices
from .numerics import W8A8
from .ops.convert.fake_quantize import arrives_quantized
from .quantize import AnySize, watched
from .quantize import Quantized as QuantizedModel
from .quantize.equalization.bias_absorption import absorbed
from .quantize.equalization.cross_layer import equalized, to_text
from .quantize.like import Like
from .quantize.mixed_precision.evaluator import Drop, Pack
from .quantize.rates.search import Rates, RateSearch
from .quantize.scheme.plan import Plan
from .quantize_request import QuantizeRequest
from .runtime import Model, Session

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
    made = provenance_with(provenance, options, done)

    def packed(graph: Graph) -> bytes:
        gone = remove_constant_channels(graph)
        store_weights(graph, coding)
        held = handed_over(graph, request.hand_over, layout)
        return build_file(held, made, {**(kept or {}), **gone})

    return packed


def provenance_with(
    provenance: Provenance, options: Mapping[str, Any], done: QuantizedModel
) -> Provenance:
    """The provenance of a file of `done`, which says the `options` and what became of channels."""
    how = dict(options)
    if done.exponents:
        how["equalized"] = to_text(done.exponents)
    if done.shifts:
        how["absorbed"] = to_text(done.shifts)
    return replace(provenance, options=as_text(how))


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
    limited = coding.how != "fast" and budget is not None and budget.max_instructions is not None
    as_given = request.mixed_rounding == "nearest" or request.weights != W8A8
    as_given = as_given or arrives_quantized(done.floats)
    if limited:
        coding.plain = _too_slow(done, pack, devices, coding, coarse=not as_given)
    if coding.how == "fast" or as_given:
        return done, None
    found = RateSearch(
        done,
        lambda graph: strip(pack(graph)),
        coding.wants,
        request.progress,
        budget,
        drop,
        devices.sizes,
    ).run()
    if limited and found[1] is None:  # more weights are behind the escape, which takes longer
        coding.plain = frozenset()
        coding.plain = _too_slow(done, pack, devices, coding, coarse=False)
    return found


def _too_slow(
    done: QuantizedModel, pack: Pack, devices: Devices, coding: Coding, *, coarse: bool
) -> frozenset[str]:
    """The layers whose decoding takes an inference over the limit on some device: others have the
    most weights together that it has room for. `coarse`: with weights as rates leave them."""
    graph, _ = done.plan.emit(done.ranges)
    weights = coding.candidates(graph)
    if coarse:
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


class SizedModel:
    """The float model of a request at any of its sizes; without ranges there is one."""

    def __init__(self, request: QuantizeRequest) -> None:
        self.request = request
        self.notes: list[str] = []
        self.sizes = dynamic.sizes_asked(request.model, request.shapes, request.dims)
        if self.varies:
            self._check_options()

    @property
    def varies(self) -> bool:
        return bool(self.sizes.symbols)

    def _check_options(self) -> None:
        request, budget = self.request, self.request.budget
        limits = budget is not None and (budget.limits_size or request.evaluation is not None)
        refused = {
            "--state": request.states,
            "--stream": request.stream,
            "--input-layout and the like": request.hand_over.given,
            "limits on bytes or instructions, and --eval,": limits,
            "--labels and --metric": request.labels is not None or request.metric is not None,
        }
        for option, given in refused.items():
            if given:
                raise UserError(
                    f"{request.model}: variable dimensions cannot be combined with {option}; fix "
                    "them with --shape or --dim"
                )

    def load(self, at: Sequence[int], arrays: Shapes | None = None) -> Graph:
        """The float graph at these sizes; `arrays` as for model_files.load."""
        graph = self._load(at, arrays)
        return dynamic.with_means(graph, self._means) if self.varies else graph

    def _load(self, at: Sequence[int], arrays: Shapes | None = None) -> Graph:
        shapes, dims = self.sizes.at(at)
        constants = self.request.constants
        return load(
            self.request.model, shapes, finite=True, arrays=arrays, constants=constants, dims=dims
        )

    @cached_property
    def _means(self) -> dynamic.Counts:
        lowest = tuple(s.lowest for s in self.sizes.symbols)
        return dynamic.varying_counts(self._load(self.sizes.largest), self._load(lowest))

    def at_size_of(self, samples: Samples) -> tuple[Samples, Graph]:
        """The samples, those of the size that most have first, and the graph at that size."""
        sized = SizedSamples(samples, self.sizes)
        self.notes, self._cut = [sized.note()], sized.cut
        return sized, self.load(sized.size)  # type: ignore[return-value]

    def of_any_size(self) -> AnySize | None:
        """The float model at all sizes, as calibration watches it; None of one size. Raises
        UserError where it cannot vary."""
        if not self.varies:
            return None
        model = dynamic.varying_model(
            self.sizes,
            watched(self.load(self.sizes.largest)),
            lambda at: watched(self.load(at)),
            str(self.request.model),
        )
        self._floats = Session(Model(write(model)), max_memory=None, numbers=True)
        return AnySize(self._floats, self._cut)

    def compared(self, data: bytes, final: bytes, done: QuantizedModel) -> tuple[bytes, OwnRuntime]:
        """The file and the float model that take all samples: of `data` at one size, and `final`,
        at all."""
        return (final, OwnRuntime(self._floats)) if self.varies else (data, OwnRuntime(done.floats))

    def file(
        self,
        done: QuantizedModel,
        provenance: Provenance,
        options: Mapping[str, Any],
        coding: Coding,
    ) -> bytes:
        """The file of what was quantized at one size, as `packer` makes it of a graph. Raises
        UserError for what is not the same at others."""
        plan = done.plan.elsewhere(self._floats_at(done, self.sizes.largest))
        whole = _emitted(done, plan, coding)

        def at(chosen: Sequence[int]) -> Graph:
            here = plan.elsewhere(self._floats_at(done, chosen), smaller=True)
            return _emitted(done, here, coding)

        model = dynamic.varying_model(self.sizes, whole, at, str(self.request.model), rough=True)
        return write(replace(model, provenance=provenance_with(provenance, options, done)))

    def _floats_at(self, done: QuantizedModel, at: Sequence[int]) -> Graph:
        floats = self.load(at)
        if done.exponents:
            floats = equalized(floats, done.exponents)
        return absorbed(floats, done.shifts) if done.shifts else floats


def _emitted(done: QuantizedModel, plan: Plan, coding: Coding) -> Graph:
    graph, _ = plan.emit(done.ranges)
    remove_constant_channels(graph)
    store_weights(graph, coding)
    return graph
