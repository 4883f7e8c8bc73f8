"""State between runs: pairs of an input and an output that a session keeps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

import edgekit
from edgekit.calibration import CalibrationError
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.format.model import Start
from edgekit.toolkit.format.reader import read_file
from edgekit.toolkit.format.schema import Place
from edgekit.toolkit.format.strip import stripped
from edgekit.toolkit.format.writer import write
from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.retarget import retarget
from edgekit.toolkit.runtime import Session, kernel_tables
from edgekit.toolkit.state import plain_pairs

from .conftest import PAIRS, frames, saved


def fed_back(session, pairs, samples):
    """Outputs of each run, whose state is given by the caller."""
    shapes = {io.name: io.shape for io in session.inputs}
    state = {i: np.zeros(shapes[i], np.float32) for i, _ in pairs}
    for sample in samples:
        found = session.run({**sample, **state})
        state = {i: found[o] for i, o in pairs}
        yield found["y"]


@pytest.mark.parametrize("name", PAIRS)
def test_a_session_keeps_what_the_caller_fed_back(request, name, tmp_path):
    path, pairs = request.getfixturevalue(name), PAIRS[name]
    edgekit.convert(path, tmp_path / "open.edge")
    edgekit.convert(path, tmp_path / "kept.edge", states=pairs)
    samples = frames(path, 12)
    wanted = list(fed_back(Session(tmp_path / "open.edge"), pairs, samples))
    kept = Session(tmp_path / "kept.edge")
    assert [io.name for io in kept.inputs] == ["x"]
    assert [io.name for io in kept.outputs] == ["y"]
    for _ in range(2):
        for sample, y in zip(samples, wanted, strict=True):
            np.testing.assert_array_equal(kept.run(sample)["y"], y)
        kept.reset()


@pytest.mark.parametrize("name", PAIRS)
def test_quantized_state_is_of_one_scale_and_starts_at_the_real_zero(request, name, tmp_path):
    path, pairs = request.getfixturevalue(name), PAIRS[name]
    edgekit.quantize(path, frames(path, 400), tmp_path / "m.edge", states=pairs)
    model = read_file(tmp_path / "m.edge")
    assert [(s.input, s.output) for s in model.states] == pairs
    for state in model.states:
        t = model.tensors[state.tensor]
        assert t.place == Place.Persistent and t.dtype != 0
        written = [model.tensors[i] for op in model.ops for i in op.outputs]
        assert any((w.place, w.offset, w.scale, w.zero_point)
                   == (t.place, t.offset, t.scale, t.zero_point) for w in written)  # fmt: skip
        if t.zero_point:
            start = model.starts[state.tensor]
            zero = model.blob[start.initial : start.initial + start.period]
            assert np.frombuffer(zero, np.int8) == t.zero_point
        else:
            assert state.tensor not in model.starts
    assert (name == "cache") == bool(model.starts)
    edgekit.convert(path, tmp_path / "float.edge", states=pairs)
    floats, sessions = Session(tmp_path / "float.edge"), kernel_tables()
    sessions = [Session(tmp_path / "m.edge", table) for table in sessions]
    noise = signal = 0.0
    for sample in frames(path, 200, seed=9):
        y = floats.run(sample)["y"]
        found = [s.run(sample)["y"] for s in sessions]
        for other in found[1:]:
            np.testing.assert_array_equal(other, found[0])
        noise, signal = noise + float(((found[0] - y) ** 2).sum()), signal + float((y**2).sum())
    assert 10 * np.log10(signal / noise) > 25
    first = frames(path, 1, seed=9)[0]
    for session in (floats, *sessions):
        session.reset()
    wanted = floats.run(first)["y"]
    for session in sessions:
        np.testing.assert_allclose(session.run(first)["y"], wanted, atol=0.2)


def test_a_hundred_thousand_steps_do_not_drift(lstm, tmp_path):
    """Integers stay as near to the float model at the end as they were at first."""
    edgekit.quantize(lstm, frames(lstm, 400), tmp_path / "m.edge", states=PAIRS["lstm"])
    edgekit.convert(lstm, tmp_path / "float.edge", states=PAIRS["lstm"])
    integers, floats = Session(tmp_path / "m.edge"), Session(tmp_path / "float.edge")
    cycle = frames(lstm, 500, seed=5)
    errors = []
    for i in range(100_000):
        sample = cycle[i % len(cycle)]
        y = integers.run(sample)["y"]
        if i % 20_000 < 500 or i >= 99_500:
            if i % 500 == 0:
                floats.reset()
                for before in cycle:  # the float model forgets too: it has seen the cycle before
                    floats.run(before)
            errors.append(float(np.abs(y - floats.run(sample)["y"]).max()))
    assert max(errors[-500:]) < 1.5 * max(errors[500:1000]) < 0.2


@pytest.mark.parametrize("plan", ["cortex_m_dsp", "cortex_m_mve"])
def test_a_file_for_a_target_keeps_its_states(cache, tmp_path, plan):
    edgekit.quantize(cache, frames(cache, 32), tmp_path / "m.edge", states=PAIRS["cache"])
    data = (tmp_path / "m.edge").read_bytes()
    model = read_file(tmp_path / "m.edge")
    (tmp_path / "t.edge").write_bytes(retarget(data, model, plan))
    made = read_file(tmp_path / "t.edge")
    ((tensor, start),) = made.starts.items()
    assert made.memory.persistent_bytes == model.memory.persistent_bytes
    zero = made.blob[start.initial : start.initial + start.period]  # not one for each element
    assert np.frombuffer(zero, np.int8) == made.tensors[tensor].zero_point
    assert stripped(made).starts == made.starts and not stripped(made).states


def test_hostile_starts_are_refused(cache, tmp_path):
    edgekit.quantize(cache, frames(cache, 32), tmp_path / "m.edge", states=PAIRS["cache"])
    model = read_file(tmp_path / "m.edge")
    ((tensor, at),) = model.starts.items()
    assert at.period == 1
    arena = next(i for i, t in enumerate(model.tensors) if t.place == Place.Arena)
    size = model.tensors[tensor].nbytes
    for starts in (
        {tensor: Start(len(model.blob) - size + 1)}, {tensor: Start(len(model.blob))},
        {tensor: Start(2**32 - 1)}, {tensor: Start(len(model.blob), 1)},
        {tensor: Start(0, size + 1)}, {tensor: Start(0, 7)},
        {arena: at}, {len(model.tensors): at}, {0xFFFF: at},
    ):  # fmt: skip
        with pytest.raises(UserError, match=r"not a valid|corrupt"):
            Session(write(replace(model, starts=starts)))
    assert size % 7
    Session(write(replace(model, starts={tensor: Start(len(model.blob) - size)})))
    Session(write(replace(model, starts={tensor: Start(len(model.blob) - 2, 2)})))


def test_a_delay_line_and_states_that_change_places(tmp_path):
    nodes = [
        helper.make_node("Identity", ["x"], ["a_next"]),
        helper.make_node("Identity", ["a"], ["b_next"]),
        helper.make_node("Identity", ["d"], ["c_next"]),
        helper.make_node("Neg", ["c"], ["d_next"]),
        helper.make_node("Concat", ["x", "a", "b", "c", "d"], ["whole"], axis=0),
        helper.make_node("Add", ["d", "one"], ["e_next"]),
        helper.make_node("Add", ["whole", "e"], ["y"]),
    ]
    names = "abcde"
    inputs = dict.fromkeys(["x", *names], (2,))
    outputs = {"y": (10,)} | {f"{n}_next": (2,) for n in names}
    nodes[-1] = helper.make_node("Concat", ["whole", "e"], ["y"], axis=0)
    outputs["y"] = (12,)
    path = saved(tmp_path / "m.onnx", nodes, inputs, outputs, {"one": np.ones(2)})
    assert plain_pairs(load(path)) == {n: f"{n}_next" for n in names}
    edgekit.convert(path, tmp_path / "open.edge")
    edgekit.convert(path, tmp_path / "kept.edge", states="auto")
    open_, kept = Session(tmp_path / "open.edge"), Session(tmp_path / "kept.edge")
    state = {n: np.zeros(2, np.float32) for n in names}
    for i in range(6):
        x = np.array([i, -i], np.float32)
        found = open_.run({"x": x, **state})
        np.testing.assert_array_equal(kept.run({"x": x})["y"], found["y"])
        state = {n: found[f"{n}_next"] for n in names}


@pytest.mark.parametrize(
    ("names", "plain"),
    [
        (("h0", "hn"), True), (("state", "stateN"), True), (("h_in", "h_out"), True),
        (("cache", "next_cache"), True), (("a", "b"), False), (("x0", "yn"), False),
    ],
)  # fmt: skip
def test_pairs_that_names_say(tmp_path, names, plain):
    x, y = names
    nodes = [
        helper.make_node("Add", ["f", x], [y]),
        helper.make_node("Neg", [y], ["out"]),
    ]
    path = saved(tmp_path / "m.onnx", nodes, {"f": (3,), x: (3,)}, {"out": (3,), y: (3,)})
    assert plain_pairs(load(path)) == ({x: y} if plain else {})
    notes = edgekit.convert(path, tmp_path / "m.edge").notes
    assert any(f"--state {x}={y}" in note for note in notes) == plain


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([("nope", "hn")], "no input 'nope'; there are: x, h0, c0"),
        ([("h0", "nope")], "no output 'nope'"),
        ([("x", "hn")], "its shape"),
        ([("h0", "hn"), ("c0", "hn")], "another pair"),
    ],
)
def test_pairs_that_make_no_sense(lstm, tmp_path, pairs, message):
    with pytest.raises(UserError, match=message):
        edgekit.convert(lstm, tmp_path / "m.edge", states=pairs)
    assert not Path(tmp_path / "m.edge").exists()


def test_samples_without_the_state_are_refused_with_the_option_that_keeps_it(lstm, tmp_path):
    with pytest.raises(CalibrationError) as caught:
        edgekit.quantize(lstm, frames(lstm, 8), tmp_path / "m.edge")
    assert "'h0', 'c0' are missing" in str(caught.value)
    assert "or use --state h0=hn --state c0=cn." in str(caught.value)
