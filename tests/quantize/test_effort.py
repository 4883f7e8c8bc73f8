"""What --effort changes: fast does not search, best searches longer, default is what it was."""

from __future__ import annotations

import json

import numpy as np
import pytest

from edgekit.toolkit import pipeline
from edgekit.toolkit.cli import main
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.ir import constant
from edgekit.toolkit.quantize import quantize_model
from edgekit.toolkit.quantize.ranges import range_search, room
from edgekit.toolkit.quantize.ranges.range_search import fixed_ranges
from edgekit.toolkit.quantize.request import FAST_SAMPLES, QuantizeOptions


def samples(count=80, seed=5):
    rng = np.random.default_rng(seed)
    return [{"x": (rng.normal(size=(1, 6, 6, 3)) ** 3).astype(np.float32)} for _ in range(count)]


@pytest.fixture
def net(g):
    a = g.conv(g.input("x", 1, 6, 6, 3), 8, act_min=0.0)
    return g.output(g.conv(g.conv(a, 8, groups=8, act_min=0.0), 4, kernel=1))


def test_fast_takes_the_ranges_of_all_samples_and_judges_few(net):
    done = quantize_model(net, samples(), effort="fast")
    assert done.samples == 80
    assert FAST_SAMPLES / 2 < len(done.calibration.kept) <= FAST_SAMPLES
    assert done.ranges == fixed_ranges(done.calibration, "minmax")
    assert not done.plan.has_rounded and not done.held_out
    assert done.trials < 12 < quantize_model(net, samples()).trials


@pytest.mark.parametrize("least", [-3, -12])
def test_fast_equalizes_only_where_int8_has_less_than_26_db(g, least):
    sizes = np.exp2(np.linspace(0, least, 8))
    made = g.conv(g.input("x", 1, 6, 6, 3), 8, act_min=0.0)
    graph = g.output(g.conv(made, 4, kernel=1))
    for node, by in zip(graph.nodes, (sizes.reshape(-1, 1, 1, 1), 1 / sizes), strict=True):
        node.inputs[1] = constant((node.input(1).const * by).astype(np.float32), "w")
    fast = quantize_model(graph, samples(), effort="fast")
    assert fast.sqnr_db > 26
    assert bool(fast.exponents) == (least == -12)
    assert quantize_model(graph, samples(), rounding="nearest").exponents


def test_fast_does_what_is_asked_for_by_name(net):
    done = quantize_model(net, samples(), "mse", rounding="gptq", effort="fast")
    assert done.ranges == fixed_ranges(done.calibration, "mse")
    assert done.plan.has_rounded


def test_fast_fits_weights_of_4_bits_nevertheless(net):
    assert quantize_model(net, samples(), weights="int4", effort="fast").options.rounded


def test_best_tries_more_ranges_and_each_method_of_rounding(net, monkeypatch):
    monkeypatch.setattr(range_search, "MAX_TRIALS", 20)
    monkeypatch.setattr(room, "ROOMS", ())  # ranges with room are not searched
    usual, best = (quantize_model(net, samples(24), effort=e) for e in ("default", "best"))
    assert best.trials > usual.trials + 4
    assert QuantizeOptions(effort="best").methods == ("gptq", "adaround")
    assert QuantizeOptions(effort="best", rounding="gptq").methods == ("gptq",)
    assert best.sqnr_db > usual.sqnr_db - 0.2


def test_an_unknown_effort_is_refused(net):
    with pytest.raises(UserError, match=r"no effort 'slow'.*fast, default, best"):
        quantize_model(net, samples(), effort="slow")


@pytest.mark.parametrize("effort", ["fast", "best", None])
def test_the_command_and_the_file_say_which(digits, tmp_path, capsys, effort):
    out, page = tmp_path / "out.edge", tmp_path / "report.html"
    words = ["quantize", digits / "digits.onnx", "--calib", digits / "calib.npz", "-o", out]
    more = [] if effort is None else ["--effort", effort]
    assert main([*map(str, words), *more, "--json", "--report", str(page)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["effort"] == (effort or "default")
    assert f"effort {effort or 'default'}" in page.read_text()
    settings = read(out.read_bytes()).provenance.settings
    assert settings.get("effort") == effort
    assert (told["explanation"]["layers"][0]["output_db"] is None) == (effort == "fast")


@pytest.mark.parametrize("effort", ["fast", "default"])
def test_fast_prints_the_verdict_and_explains_no_layer(digits, tmp_path, capsys, effort):
    words = ["quantize", digits / "digits.onnx", "--calib", digits / "calib.npz"]
    more = ["-o", tmp_path / "out.edge", "--effort", effort]
    assert main([str(w) for w in (*words, *more)]) == 0
    told = capsys.readouterr().err
    assert told.startswith("good: ")
    assert ("Mean SQNR" in told, "% of the error" in told) == 2 * (effort == "default",)


def test_fast_keeps_the_floor(digits, tmp_path):
    """Its verdict comes from the same figures, on the samples that it keeps."""
    done = pipeline.quantize(
        digits / "digits.onnx", digits / "calib.npz", tmp_path / "out.edge", effort="fast"
    )
    assert done.quality.level == "good" and not done.below_floor
    assert done.kept_samples <= FAST_SAMPLES
