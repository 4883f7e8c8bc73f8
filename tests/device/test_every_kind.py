"""Every operator on every target: integers and forests answer with the host's bytes, whatever they
are given, other floats within their rounding."""

import re

import numpy as np
import pytest

from edgekit import targets
from edgekit.toolkit.build import build_file
from edgekit.toolkit.device.build import prepare
from edgekit.toolkit.device.emulate import Device
from edgekit.toolkit.device.listing import listing
from edgekit.toolkit.format.model import NUMPY_OF
from edgekit.toolkit.format.schema import DType, OpKind
from edgekit.toolkit.format.writer import write
from edgekit.toolkit.ir import Graph, Node, Port, QuantParams, TensorType, Value
from edgekit.toolkit.runtime import Session
from edgekit.toolkit.state import keep_states

from ..fuzz import corpus

DEVICES = [name for name in targets.names() if targets.load(name).emulator.startswith("qemu")]

NOT_HERE = (DType.Float32, DType.Float16, DType.Float64, DType.Int64, DType.UInt64)
"""Floats promise no bytes, and 64 bits call the compiler's library."""

EXACT = (OpKind.TreeEnsemble, OpKind.ArgMax, OpKind.TopK, OpKind.NonMaxSuppression)
"""On float32; what they decide and add is the same everywhere."""


@pytest.fixture(scope="module")
def every_kind():
    """One file with all the integer operators of the fuzzer's corpus."""
    maker = corpus.FileMaker()
    for form in corpus.CASES.values():
        if form.element not in NOT_HERE and form.kind is not OpKind.Convert:
            corpus.maker_of(form)(maker, form)
    return write(maker.model())


@pytest.fixture(scope="module")
def every_float():
    """One file with all the float32 operators, and which of its outputs are exact."""
    maker, exact = corpus.FileMaker(), set()
    for form in corpus.CASES.values():
        if form.element is DType.Float32 and form.kind not in (OpKind.Convert, OpKind.Custom):
            before = len(maker.outputs)
            corpus.maker_of(form)(maker, form)
            if form.kind in EXACT:
                exact.update(range(before, len(maker.outputs)))
    return write(maker.model()), exact


@pytest.fixture(scope="module")
def packed():
    """A file for a target; targets of one plan share it."""
    made = {}

    def pack(data, target):
        if (data, target.plan) not in made:
            made[data, target.plan] = prepare(data, target)
        return made[data, target.plan]

    return pack


def any_values(info, rng, odd=()):
    """All that the type holds, the extremes one time in four (of floats those in `odd`); indices
    that Gather has."""
    if info.dtype == np.float32:
        values = rng.normal(0, 5, info.shape).astype(np.float32)
        return (
            np.where(rng.random(info.shape) < 0.25, rng.choice(odd, info.shape), values)
            if len(odd)
            else values
        )
    if info.dtype == np.int32:
        return rng.integers(-5, 5, info.shape).astype(np.int32)
    limits = np.iinfo(info.dtype)
    values = rng.integers(limits.min, limits.max + 1, info.shape)
    edges = rng.choice(np.array([limits.min, limits.max]), info.shape)
    return np.where(rng.random(info.shape) < 0.25, edges, values).astype(info.dtype)


@pytest.mark.parametrize("name", DEVICES)
def test_every_integer_operator_has_the_hosts_bytes(ready, every_kind, packed, name):
    target = ready(name)
    session = Session(every_kind, "ref")
    rng = np.random.default_rng(3)
    odd = np.array([np.nan, np.inf, -np.inf, 3e38], np.float32)
    feeds = [{io.name: any_values(io, rng, odd) for io in session.inputs} for _ in range(5)]
    with Device(packed(every_kind, target), target) as device:
        ran = device.run([list(feed.values()) for feed in feeds])
        needed = set(device.archive.undefined) - {"memcpy", "memset", "memmove"}
    if target.bare_metal:  # but for what converts floats, where the core has none
        helpers = "__aeabi_(f|u?i2f)|__[a-z]+sf[a-z]*[0-9]?$|__(ashl|ashr|lshr)di3"
        assert all(re.match(helpers, symbol) for symbol in needed), needed
        assert not needed or name in ("cortex_m0plus", "riscv32_imc")
    listed = next(row.dtypes for row in listing() if row.name == name)
    ran_on = {NUMPY_OF[t.dtype].name for t in device.model.tensors} - {"int32", "uint8"}
    assert {"int8", "int16"} <= ran_on <= set(listed)
    for feed, answers in zip(feeds, ran.outputs, strict=True):
        wanted = session.run_raw(feed)
        for io, op, answer in zip(session.outputs, device.model.outputs, answers, strict=True):
            np.testing.assert_array_equal(answer, wanted[io.name], err_msg=op.name)


@pytest.mark.parametrize("name", DEVICES)
def test_every_float_operator_answers_as_the_host(ready, every_float, packed, name):
    target, (data, exact) = ready(name), every_float
    session = Session(data, "ref")
    rng = np.random.default_rng(3)
    feeds = [{io.name: any_values(io, rng) for io in session.inputs} for _ in range(3)]
    with Device(packed(data, target), target) as device:
        ran = device.run([list(feed.values()) for feed in feeds])
    for feed, answers in zip(feeds, ran.outputs, strict=True):
        wanted = session.run_raw(feed)
        for i, (io, answer) in enumerate(zip(session.outputs, answers, strict=True)):
            host = wanted[io.name]
            if i in exact or host.dtype != np.float32:
                np.testing.assert_array_equal(answer, host, err_msg=io.name)
            else:  # sums in another order, and the functions of another math library
                largest = np.abs(host[np.isfinite(host)]).max(initial=0)
                np.testing.assert_allclose(answer, host, 1e-6, 1e-6 * largest, err_msg=io.name)


@pytest.mark.parametrize("name", DEVICES)
def test_state_is_kept_and_starts_at_the_zero_point(ready, name, tmp_path):
    """y = x + state, and the next state is y; int8, whose zero is not 0."""
    state, scale = TensorType(np.dtype(np.int8), (1, 24)), QuantParams((0.05,), -37)
    x, h, y = (Value(n, state, quant=scale) for n in ("x", "h", "y"))
    add = Node("Add", [x, h], [y], {}, "y")
    nothing = Value("out", state, quant=scale)
    copy = {"dims": (24,), "strides": (-1,), "offset": 23, "shape": (1, 24)}
    graph = Graph([add, Node("Copy", [y], [nothing], copy, "out")])
    graph.inputs = [Port("x", x, 3, (1, 24)), Port("h", h, 3, (1, 24), follows="hn")]
    graph.outputs = [Port("hn", y, 3, (1, 24)), Port("out", nothing, 3, (1, 24))]
    data = build_file(keep_states(graph))
    session = Session(data, "ref")
    rng = np.random.default_rng(0)
    feeds = [[rng.integers(-45, -29, (1, 24)).astype(np.int8)] for _ in range(9)]
    with Device(data, ready(name)) as device:
        ran = device.run(feeds)
    for (array,), (answer,) in zip(feeds, ran.outputs, strict=True):
        np.testing.assert_array_equal(answer, session.run_raw({"x": array})["out"])
