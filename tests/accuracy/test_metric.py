"""Metrics: the named ones against plain definitions, and the user's own with all they may do."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

from edgekit.toolkit.accuracy import open_metric
from edgekit.toolkit.errors import UserError

RNG = np.random.default_rng(3)


def value(metric, outputs, references, **data):
    return metric(outputs, references, data, "the file")


def test_top1_is_what_agrees_with_the_float_model_or_the_labels():
    truth = {"y": np.eye(5, dtype=np.float32)}
    got = {"y": np.eye(5, dtype=np.float32)[[0, 1, 2, 4, 3]]}
    assert value(open_metric(None), got, truth) == 60.0
    labels = np.array([1, 1, 2, 4, 4])
    assert value(open_metric("top1", "c"), got, truth, c=labels) == 60.0
    integer = {"scores": got["y"], "label": np.arange(5)}
    assert value(open_metric("top1"), integer, integer) == 100.0


@pytest.mark.parametrize("first", [True, False])
def test_miou_counts_pixels_of_each_class(first):
    truth = RNG.integers(0, 3, (4, 8, 9))
    guess = np.where(RNG.random(truth.shape) < 0.7, truth, RNG.integers(0, 3, truth.shape))
    ious = [
        sum(((guess == c) & (truth == c)).ravel()) / sum(((guess == c) | (truth == c)).ravel())
        for c in range(3)
    ]
    scores = [np.moveaxis(np.eye(3)[m], -1, 1 if first else -1) for m in (guess, truth)]
    got, reference = ({"m": s.astype(np.float32)} for s in scores)
    assert value(open_metric("miou"), got, reference) == pytest.approx(np.mean(ious))
    assert value(open_metric("miou", "y"), got, got, y=truth) == pytest.approx(np.mean(ious))
    unknown = np.where(guess == truth, truth, 255)
    assert value(open_metric("miou", "y"), got, got, y=unknown) == 1.0


@pytest.mark.parametrize(("shift", "scale"), [(0.5, 0.4), (0.0, 9.0)])
def test_miou_of_one_channel_is_split_where_it_is_in_doubt(shift, scale):
    inside = RNG.random((2, 1, 6, 6)) < 0.5
    inside.flat[:2] = True, False
    x = {"m": (shift + scale * np.where(inside, 1, -1)).astype(np.float32)}
    y = inside.astype(np.uint8).reshape(2, 6, 6)
    assert value(open_metric("miou", "y"), x, x, y=y) == 1.0
    assert value(open_metric("miou", "y"), x, x, y=1 - y) == 0.0


def test_cosine_and_mae():
    a, b = (RNG.normal(size=(6, 10)).astype(np.float32) for _ in range(2))
    each = [u @ v / math.sqrt((u @ u) * (v @ v)) for u, v in zip(a, b, strict=True)]
    assert value(open_metric("cosine"), {"e": a}, {"e": b}) == pytest.approx(np.mean(each))
    far = -np.abs(a.astype(np.float64) - b).mean()
    assert math.copysign(1, value(open_metric("mae"), {"e": a}, {"e": a})) == 1
    assert value(open_metric("mae"), {"e": a}, {"e": b}) == pytest.approx(far)
    assert value(open_metric("mae", "t"), {"e": a}, {"e": a}, t=b) == pytest.approx(far)


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "mine.py"
        path.write_text(text)
        return path

    return write


def test_a_file_may_name_its_function_and_import_its_neighbours(written):
    path = written("from beside import seven\ndef good(o, r, d): return seven\n")
    (path.parent / "beside.py").write_text("seven = 7\n")
    assert value(open_metric(f"{path}:good"), {}, {}) == 7.0
    assert open_metric(f"{path}:good").name == "mine.py:good"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def metric(:\n", r"mine\.py: line 1: SyntaxError"),
        ("import math\nmath.nothing\n", r"mine\.py: line 2: AttributeError"),
        ("raise SystemExit(3)\n", r"mine\.py: line 1: SystemExit: 3"),
        ("def other(o, r, d): return 1\n", r"mine\.py: 'metric' is not there.*mine\.py:FUNCTION"),
        ("metric = 3\n", r"mine\.py: 'metric' is not a function"),
    ],
)
def test_a_file_that_cannot_be_used(written, text, says):
    with pytest.raises(UserError, match=says):
        open_metric(written(text))


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("d['boxes']", r"mine\.py:metric: line 3: KeyError: 'boxes'; data has y, x"),
        ("1 / 0", r"line 3: ZeroDivisionError: division by zero \(on the outputs of the file\)"),
        ("o['y'] @ o['y']", r"line 3: ValueError"),
        ("float('nan')", r"returned nan for the outputs of the file; return one finite number"),
        ("None", r"returned a NoneType"),
        ("o['y']", r"returned a ndarray"),
        ("1j", r"returned a complex"),
        ("10**400", r"returned inf for the outputs of the file"),
        ("sys.exit('enough')", r"mine\.py:metric: line 3: SystemExit: enough"),
    ],
)
def test_a_function_that_goes_wrong(written, body, says):
    metric = open_metric(written(f"import sys\ndef metric(o, r, d):\n    return {body}\n"))
    with pytest.raises(UserError, match=says):
        value(metric, {"y": np.zeros((2, 3))}, {}, y=np.zeros(2), x=np.zeros(2))


@pytest.mark.parametrize("body", ["np.mean(o['y'])", "np.array(0)", "np.bool_(0)", "False", "0"])
def test_any_number_will_do(written, body):
    metric = open_metric(written(f"import numpy as np\ndef metric(o, r, d): return {body}\n"))
    assert value(metric, {"y": np.zeros(3, np.float32)}, {}) == 0.0


def test_a_function_of_other_arguments(written):
    with pytest.raises(
        UserError, match=r"mine\.py:metric: TypeError: metric\(\) takes 1 positional"
    ):
        value(open_metric(written("def metric(outputs):\n    return 1.0\n")), {}, {})


@pytest.mark.parametrize("late", [False, True])
def test_what_lies_beside_the_file_is_imported_early_or_late(written, monkeypatch, late):
    path = written("")
    (path.parent / "beside_mine.py").write_text("half = 0.5\n")
    found = "import sys; sys.path.insert(0, 'of the user')\n"
    lines = ["import beside_mine", f"{found}def metric(o, r, d):", " import beside_mine"]
    path.write_text("\n".join([*lines[late:2], *lines[2:][:late], " return beside_mine.half\n"]))
    monkeypatch.chdir(path.parent)
    monkeypatch.setattr(sys, "path", before := list(sys.path))
    monkeypatch.delitem(sys.modules, "beside_mine", raising=False)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    assert value(open_metric(path.name), {}, {}) == 0.5
    assert sorted(path.parent.iterdir()) == [path.with_name("beside_mine.py"), path]
    assert not sys.dont_write_bytecode
    assert str(path.parent) not in before and "of the user" in before


def test_the_line_is_told_of_a_file_by_its_relative_path(written, monkeypatch):
    path = written("import math\nmath.nothing\n")
    monkeypatch.chdir(path.parent)
    with pytest.raises(UserError, match=r"^mine\.py: line 2: AttributeError"):
        open_metric(path.name)


def test_what_means_no_metric(tmp_path):
    with pytest.raises(UserError, match=r"no metric 'map'; there are top1, miou, cosine, mae"):
        open_metric("map")
    with pytest.raises(UserError, match="does not exist"):
        open_metric(tmp_path / "none.py")
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(UserError, match=r"folder\.py' is a folder; .*FILE\.py"):
        open_metric(tmp_path / "folder.py")
    for name in ("", "2nd"):
        with pytest.raises(UserError, match=rf"mine\.py:{name}: '{name}' after .* use mine\.py "):
            open_metric(f"mine.py:{name}")
    with pytest.raises(UserError, match="omit the labels"):
        open_metric("cosine", "y")
    with pytest.raises(UserError, match="omit the labels"):
        open_metric(lambda o, r, d: 1.0, "y")


def test_a_function_that_answers_otherwise_each_time_is_refused():
    calls = iter((0.5, 0.5 + 1e-9, 0.5, 0.6))
    metric = open_metric(lambda o, r, d: next(calls))
    assert metric.of_floats({}, {}) == 0.5, "sums in another order are no chance"
    with pytest.raises(UserError, match=r"returned 0\.5 and then 0\.6 .* seed random numbers"):
        metric.of_floats({}, {})
