"""A detector that finds as many boxes as there are: run, compared and judged on several samples."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import edgekit
from edgekit.toolkit.execution import run

PLACES = 6
RNG = np.random.default_rng(3)
CORNERS = np.arange(PLACES, dtype=np.float32)[:, None] * 2 + np.array([0, 0, 1, 1], np.float32)
"""That do not overlap."""


def detector(path, least):
    """The boxes of x [1, 6, 5] whose score, the last number, is above `least`, best first."""
    constants = {
        "most": np.array([PLACES]), "overlap": np.array([0.5], np.float32),
        "least": np.array([least], np.float32), "two": np.array(2), "axis": np.array([2]),
        "zero": np.array([0]), "four": np.array([4]), "five": np.array([5]),
    }  # fmt: skip
    steps = [
        ("Slice", "x zero four axis", "boxes", {}),
        ("Slice", "x four five axis", "last", {}),
        ("Transpose", "last", "scores", {"perm": [0, 2, 1]}),
        ("NonMaxSuppression", "boxes scores most overlap least", "kept", {}),
        ("Gather", "kept two", "places", {"axis": 1}),
        ("Gather", "boxes places", "found", {"axis": 1}),
    ]
    graph = helper.make_graph(
        [helper.make_node(op, i.split(), [o], **a) for op, i, o, a in steps],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, PLACES, 5])],
        [helper.make_tensor_value_info("found", TensorProto.FLOAT, [1, "n", 4])],
        [onnx.numpy_helper.from_array(a, n) for n, a in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    return path


@pytest.fixture
def found(tmp_path):
    """A file for scores above 0.5, samples, and by numpy which of their boxes those are."""
    scores = RNG.permuted(np.tile(np.linspace(0.15, 0.9, PLACES), (5, 1)), axis=1)
    scores[0], scores[1, 2] = 0.1, 0.6
    x = np.concatenate([np.tile(CORNERS, (5, 1, 1)), scores[..., None]], -1).astype(np.float32)
    np.savez(tmp_path / "x.npz", x=x)
    edgekit.convert(detector(tmp_path / "m.onnx", 0.5), tmp_path / "m.edge")
    boxes = []
    for row in scores:
        best = np.argsort(-row, kind="stable")
        boxes.append(CORNERS[best[row[best] > 0.5]])
    assert len({len(b) for b in boxes}) > 1 and len(boxes[0]) == 0
    return tmp_path, boxes


def test_what_is_found_on_several_samples_has_zeros_behind_and_a_count(found):
    folder, boxes = found
    run(folder / "m.edge", [str(folder / "x.npz")], folder / "out.npz")
    out = np.load(folder / "out.npz")
    assert out["found"].shape == (len(boxes), PLACES, 4)
    np.testing.assert_array_equal(out["found.count"].ravel(), [len(b) for b in boxes])
    for got, want in zip(out["found"], boxes, strict=True):
        np.testing.assert_array_equal(got[: len(want)], want)
        assert not got[len(want) :].any()


def test_what_is_found_on_one_sample_is_as_long_as_it_is(found):
    folder, boxes = found
    np.save(folder / "one.npy", np.load(folder / "x.npz")["x"][1])
    run(folder / "m.edge", [str(folder / "one.npy")], folder / "out.npz")
    out = np.load(folder / "out.npz")
    assert out.files == ["found"]
    np.testing.assert_array_equal(out["found"][0], boxes[1])


@pytest.mark.parametrize("layers", [False, True])
def test_a_file_that_finds_the_same_is_exact(found, layers):
    folder, _ = found
    report = edgekit.check(folder / "m.edge", folder / "m.onnx", folder / "x.npz", layers=layers)
    assert [o.name for o in report.outputs] == ["found"]
    assert report.outputs[0].max_abs_error == 0 and not report.notes


def test_what_one_of_two_finds_counts_as_zeros_for_the_other(found):
    folder, boxes = found
    more = detector(folder / "more.onnx", 0.2)

    def how_many(outputs, references, data):
        assert outputs["found"].shape == references["found"].shape == (len(boxes), PLACES, 4)
        return float(np.any(outputs["found"], -1).sum())

    report = edgekit.check(folder / "m.edge", more, folder / "x.npz", metric=how_many)
    scores = np.load(folder / "x.npz")["x"][..., 4]
    missing = [len(b) < (s > 0.2).sum() for b, s in zip(boxes, scores, strict=True)]
    assert report.notes == [
        f"output 'found' is longer or shorter than the float model's on {sum(missing)} of "
        f"{len(boxes)} samples: what one lacks counts as zeros"
    ]
    wanted, lost = 0.0, 0.0
    for b, s in zip(boxes, scores, strict=True):
        every = CORNERS[np.argsort(-s, kind="stable")][: (s > 0.2).sum()]
        wanted, lost = wanted + np.square(every).sum(), lost + np.square(every[len(b) :]).sum()
    assert report.outputs[0].sqnr_db == pytest.approx(10 * np.log10(wanted / lost), abs=1e-6)
    assert report.metric.edge == sum(map(len, boxes))
