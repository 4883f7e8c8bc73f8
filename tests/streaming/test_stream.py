"""The streaming pass: frame by frame as the whole sequence."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper, numpy_helper

import edgekit
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.format.reader import read_file
from edgekit.toolkit.runtime import Session
from edgekit.toolkit.streaming import Playback

from .conftest import saved

T, CHANNELS = 24, 3


def conv(name, x, kernel, pads=(0, 0), dilation=1, stride=1, channels=CHANNELS, seed=0):
    rng = np.random.default_rng(seed)
    w = rng.normal(0, 0.5, (channels, CHANNELS, kernel)).astype(np.float32)
    return helper.make_node(
        "Conv", [x, f"{name}.w", f"{name}.b"], [name], pads=list(pads), dilations=[dilation],
        strides=[stride],
    ), {f"{name}.w": w, f"{name}.b": rng.normal(0, 0.3, channels)}  # fmt: skip


def model_of(path, *parts, output, inputs=(1, CHANNELS, T)):
    """An ONNX model of `parts`, nodes and their constants, from x to y."""
    nodes, constants = [], {}
    for node, arrays in parts:
        nodes.append(node)
        constants |= arrays
    return saved(path, nodes, {"x": inputs}, {"y": output}, constants)


def sequence(seed=1, shape=(1, CHANNELS, T)):
    return np.random.default_rng(seed).uniform(-1, 1.5, shape).astype(np.float32)


def assert_streams(path, tmp_path, axis=2, frames=None, x=None, late=0, exact=True):
    """That the streaming file gives the frames of the whole one."""
    x = sequence() if x is None else x
    edgekit.convert(path, tmp_path / "whole.edge")
    done = edgekit.convert(path, tmp_path / "s.edge", stream=[("", axis)], frames=frames)
    play = Playback(read_file(tmp_path / "s.edge").provenance.settings["stream"])
    whole, session = Session(tmp_path / "whole.edge"), Session(tmp_path / "s.edge")
    for _ in range(2):
        truth = whole.run({"x": x})
        found = play.joined([session.run(step) for step in play.steps({"x": x})])
        for name, y in found.items():
            np.testing.assert_array_equal(y, play.shown(truth)[name])
        session.reset()
    assert found.keys() == truth.keys()
    assert play.outputs["y"][2] == late, done.notes
    return done, play


def test_a_causal_convolution(tmp_path):
    part = conv("y", "x", 3, (2, 0))
    path = model_of(tmp_path / "m.onnx", part, output=(1, CHANNELS, T))
    done, play = assert_streams(path, tmp_path)
    assert play.frames == 1 and "output 'y' is not delayed" in done.notes
    (x,) = Session(tmp_path / "s.edge").inputs
    assert x.shape == (1, CHANNELS, 1)
    assert_streams(path, tmp_path, frames=4)
    assert_streams(path, tmp_path, frames=5)


@pytest.mark.parametrize("frames", [None, 2, 3])
def test_what_looks_ahead_is_late(tmp_path, frames):
    part = [conv("a", "x", 5, (2, 2)), conv("y", "a", 3, (1, 1), dilation=1, seed=3)]
    path = model_of(tmp_path / "m.onnx", *part, output=(1, CHANNELS, T))
    done, _ = assert_streams(path, tmp_path, frames=frames, late=3)
    assert "output 'y' is delayed by 3 frames" in done.notes


def test_stride_and_dilation_need_frames(tmp_path):
    part = [conv("a", "x", 3, (2, 0), stride=2), conv("y", "a", 3, (4, 0), dilation=2, stride=2)]
    path = model_of(tmp_path / "m.onnx", *part, output=(1, CHANNELS, T // 4))
    _, play = assert_streams(path, tmp_path)
    assert play.frames == 4
    with pytest.raises(UserError, match="use a multiple of 4"):
        edgekit.convert(path, tmp_path / "n.edge", stream=[("x", 2)], frames=2)


def test_a_residual_of_other_lookahead_is_delayed(tmp_path):
    parts = [
        conv("a", "x", 5, (2, 2)),
        (helper.make_node("Add", ["a", "x"], ["b"]), {}),
        conv("c", "b", 3, (2, 0), seed=4),
        (helper.make_node("Concat", ["c", "x"], ["d"], axis=1), {}),
        (helper.make_node("Relu", ["d"], ["y"]), {}),
    ]
    path = model_of(tmp_path / "m.onnx", *parts, output=(1, 2 * CHANNELS, T))
    assert_streams(path, tmp_path, late=2)
    assert_streams(path, tmp_path, frames=3, late=2)


@pytest.mark.parametrize("op", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("ahead", [0, 1])
@pytest.mark.parametrize("frames", [1, 2])
def test_recurrent_layers(tmp_path, op, ahead, frames):
    rng, hidden = np.random.default_rng(5), 6
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    parts = [
        conv("a", "x", 3, (2 - ahead, ahead)),
        (helper.make_node("Transpose", ["a"], ["b"], perm=[2, 0, 1]), {}),
        (
            helper.make_node(op, ["b", "w", "r", "bias"], ["c"], hidden_size=hidden),
            {
                "w": rng.normal(0, 0.5, (1, gates * hidden, CHANNELS)),
                "r": rng.normal(0, 0.4, (1, gates * hidden, hidden)),
                "bias": rng.normal(0, 0.4, (1, 2 * gates * hidden)),
            },
        ),
        (helper.make_node("MatMul", ["c", "last"], ["y"]), {"last": rng.normal(0, 1, (hidden, 2))}),
    ]
    path = model_of(tmp_path / "m.onnx", *parts, output=(T, 1, 1, 2))
    late = -(-ahead // frames) * frames
    assert_streams(path, tmp_path, frames=frames, late=late)


def test_pools_along_time(tmp_path):
    parts = [
        (helper.make_node("MaxPool", ["x"], ["a"], kernel_shape=[3], pads=[2, 0]), {}),
        (helper.make_node("AveragePool", ["a"], ["y"], kernel_shape=[2], strides=[2]), {}),
    ]
    path = model_of(tmp_path / "m.onnx", *parts, output=(1, CHANNELS, T // 2))
    assert_streams(path, tmp_path, late=0)
    assert_streams(path, tmp_path, frames=4, late=0)


def test_a_window_over_the_whole_sequence_becomes_a_moving_one(tmp_path):
    parts = [conv("a", "x", 8), conv("b", "a", T - 7, channels=4, seed=2)]
    reshape = helper.make_node("Reshape", ["b", "shape"], ["flat"])
    parts.append((reshape, {}))
    parts.append((helper.make_node("Softmax", ["flat"], ["y"]), {}))
    path = model_of(tmp_path / "m.onnx", *parts, output=(1, 4))
    import onnx

    model = onnx.load(path)
    model.graph.initializer.append(numpy_helper.from_array(np.array([1, 4]), "shape"))
    onnx.save(model, path)
    assert_streams(path, tmp_path, late=T - 1)


def test_the_last_hidden_state_is_the_answer_so_far(tmp_path):
    rng, hidden = np.random.default_rng(5), 6
    parts = [
        (helper.make_node("Transpose", ["x"], ["b"], perm=[2, 0, 1]), {}),
        (
            helper.make_node("GRU", ["b", "w", "r"], ["", "h"], hidden_size=hidden),
            {
                "w": rng.normal(0, 0.5, (1, 3 * hidden, CHANNELS)),
                "r": rng.normal(0, 0.4, (1, 3 * hidden, hidden)),
            },
        ),
        (helper.make_node("MatMul", ["h", "last"], ["y"]), {"last": rng.normal(0, 1, (hidden, 2))}),
    ]
    path = model_of(tmp_path / "m.onnx", *parts, output=(1, 1, 2))
    assert_streams(path, tmp_path)
    assert_streams(path, tmp_path, frames=3)


REFUSED = {
    "mean": (
        lambda: [(helper.make_node("GlobalAveragePool", ["x"], ["y"]), {})],
        (1, CHANNELS, 1), "AvgPool2d 'y.*' pools over the whole sequence",
    ),
    "softmax": (
        lambda: [(helper.make_node("Softmax", ["x"], ["y"], axis=2), {})],
        (1, CHANNELS, T), "Softmax 'y.*' needs the whole sequence",
    ),
    "attention": (
        lambda: [
            (helper.make_node("Transpose", ["x"], ["k"], perm=[0, 2, 1]), {}),
            (helper.make_node("MatMul", ["k", "x"], ["y"]), {}),
        ],
        (1, T, T), "MatMul 'y.*' multiplies frames with each other",
    ),
    "reverse": (
        lambda: [
            (helper.make_node("Transpose", ["x"], ["b"], perm=[2, 0, 1]), {}),
            (helper.make_node("RNN", ["b", "w", "r"], ["y"], hidden_size=2, direction="reverse"),
             {"w": np.ones((1, 2, CHANNELS)), "r": np.ones((1, 2, 2))}),
        ],
        (T, 1, 1, 2), "Recurrent 'y.*' reads the sequence in reverse",
    ),
    "position": (
        lambda: [(helper.make_node("Add", ["x", "p"], ["y"]), {"p": np.arange(T)[None, None]})],
        (1, CHANNELS, T), "differs from frame to frame",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_needs_the_whole_sequence_is_refused_by_name(tmp_path, name):
    parts, output, message = REFUSED[name]
    path = model_of(tmp_path / "m.onnx", *parts(), output=output)
    with pytest.raises(UserError, match=message):
        edgekit.convert(path, tmp_path / "s.edge", stream=[("", 2)])
    assert not (tmp_path / "s.edge").exists()


@pytest.mark.parametrize(
    ("stream", "frames", "message"),
    [
        ([("z", 2)], None, "no input 'z'; there are: x"),
        ([("x", 3)], None, "has axes 0 to 2"),
        ([("x", 0)], None, "that axis has 1 frames"),
        ([], 2, "requires --stream"),
    ],
)
def test_options_that_make_no_sense(tmp_path, stream, frames, message):
    path = model_of(tmp_path / "m.onnx", conv("y", "x", 3, (2, 0)), output=(1, CHANNELS, T))
    with pytest.raises(UserError, match=message):
        edgekit.convert(path, tmp_path / "s.edge", stream=stream, frames=frames)


@pytest.fixture
def denoiser(tmp_path):
    """A convolution that looks ahead, a GRU, and a residual."""
    rng, hidden = np.random.default_rng(5), 8
    parts = [
        conv("a", "x", 5, (3, 1)),
        (helper.make_node("Relu", ["a"], ["a1"]), {}),
        (helper.make_node("Transpose", ["a1"], ["b"], perm=[2, 0, 1]), {}),
        (
            helper.make_node("GRU", ["b", "w", "r"], ["c"], hidden_size=hidden),
            {
                "w": rng.normal(0, 0.5, (1, 3 * hidden, CHANNELS)),
                "r": rng.normal(0, 0.4, (1, 3 * hidden, hidden)),
            },
        ),
        (
            helper.make_node("MatMul", ["c", "last"], ["d"]),
            {"last": rng.normal(0, 1, (hidden, CHANNELS))},
        ),
        (helper.make_node("Squeeze", ["d"], ["e"]), {}),
        (helper.make_node("Transpose", ["e"], ["f"], perm=[1, 0]), {}),
        (helper.make_node("Add", ["f", "x"], ["y"]), {}),
    ]
    return model_of(tmp_path / "m.onnx", *parts, output=(1, CHANNELS, T))


def samples_of(count, seed):
    return [{"x": sequence(seed + i)} for i in range(count)]


def test_quantized_it_gives_the_bytes_of_the_whole_and_is_checked(denoiser, tmp_path):
    calib = samples_of(16, 10)
    whole = edgekit.quantize(denoiser, calib, tmp_path / "w.edge")
    part = edgekit.quantize(denoiser, calib, tmp_path / "s.edge", stream=[("x", 2)])
    assert "output 'y' is delayed by 1 frame" in part.notes
    assert part.arena_bytes < whole.arena_bytes / 4
    unseen = samples_of(8, 100)
    reports = [
        edgekit.check(tmp_path / f"{name}.edge", denoiser, unseen, labels=None)
        for name in ("w", "s")
    ]
    assert reports[1].outputs[0].sqnr_db == pytest.approx(reports[0].outputs[0].sqnr_db, abs=0.5)
    play = Playback(read_file(tmp_path / "s.edge").provenance.settings["stream"])
    session = Session(tmp_path / "s.edge")
    found = play.joined([session.run(step) for step in play.steps(unseen[0])])
    truth = play.shown(Session(tmp_path / "w.edge").run(unseen[0]))
    np.testing.assert_array_equal(found["y"], truth["y"])
    assert found["y"].shape == (1, CHANNELS, T - 1)
    with pytest.raises(UserError, match="--layers: not supported for streaming files"):
        edgekit.check(tmp_path / "s.edge", denoiser, unseen, layers=True)


def test_a_softmax_over_frames_is_judged_by_its_probabilities(tmp_path):
    softmax = helper.make_node("Softmax", ["a"], ["y"], axis=1), {}
    path = model_of(
        tmp_path / "m.onnx", conv("a", "x", 3, (2, 0)), softmax, output=(1, CHANNELS, T)
    )
    edgekit.quantize(path, samples_of(16, 10), tmp_path / "s.edge", stream=[("x", 2)])
    report = edgekit.check(tmp_path / "s.edge", path, samples_of(8, 100))
    assert report.quality is not None and report.level == "good"
    assert report.quality.sqnr_db["y"] == pytest.approx(report.outputs[0].sqnr_db, abs=3)


def test_a_state_of_the_models_own_goes_on(tmp_path):
    rng, hidden = np.random.default_rng(5), 6
    constants = {
        "w": rng.normal(0, 0.5, (1, 4 * hidden, CHANNELS)),
        "r": rng.normal(0, 0.4, (1, 4 * hidden, hidden)),
    }
    node = helper.make_node(
        "LSTM", ["x", "w", "r", "", "", "h0", "c0"], ["y", "hn", "cn"], hidden_size=hidden
    )
    state = (1, 1, hidden)
    path = saved(
        tmp_path / "m.onnx", [node], {"x": (T, 1, CHANNELS), "h0": state, "c0": state},
        {"y": (T, 1, 1, hidden), "hn": state, "cn": state}, constants,
    )  # fmt: skip
    edgekit.convert(path, tmp_path / "w.edge")
    edgekit.convert(path, tmp_path / "s.edge", states="auto", stream=[("x", 0)])
    x, zeros = sequence(shape=(T, 1, CHANNELS)), np.zeros(state, np.float32)
    truth = Session(tmp_path / "w.edge").run({"x": x, "h0": zeros, "c0": zeros})["y"]
    session = Session(tmp_path / "s.edge")
    found = np.concatenate([session.run({"x": x[i : i + 1]})["y"] for i in range(T)])
    np.testing.assert_array_equal(found, truth)
    report = edgekit.check(tmp_path / "s.edge", path, [{"x": x}])
    assert report.outputs[0].sqnr_db > 90
