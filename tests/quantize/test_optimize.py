from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from edgekit.toolkit.accuracy import OwnRuntime, compare
from edgekit.toolkit.build import build_file
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.quantize import OBSERVERS, calibrate, quantize_model
from edgekit.toolkit.quantize.optimize import _Quantization
from edgekit.toolkit.quantize.outputs.kept_samples import KEPT_SAMPLES
from edgekit.toolkit.quantize.ranges import room
from edgekit.toolkit.quantize.ranges.candidate_evaluation import Score
from edgekit.toolkit.quantize.ranges.range_search import PATIENCE, RangeSearch
from edgekit.toolkit.quantize.request import QuantizeOptions
from edgekit.toolkit.runtime import Session


def samples_for(*shape, count=24, seed=5):
    rng = np.random.default_rng(seed)
    return [{"x": (rng.normal(size=shape) ** 3).astype(np.float32)} for _ in range(count)]


@pytest.fixture
def net(g):
    x = g.input("x", 1, 8, 8, 3)
    a = g.conv(x, 8, act_min=0.0)
    b = g.conv(a, 8, groups=8, act_min=0.0)
    flat = g.emit("Reshape", g.conv(b, 4, kernel=1), shape=(1, 256))
    w = g.const(g.rng.normal(size=(6, 256)) * 0.1)
    logits = g.emit("FullyConnected", flat, w, None, act_min=-np.inf, act_max=np.inf)
    return g.output(g.emit("Softmax", logits, axis=1), g.emit("HardSwish", a))


def score_of(graph, quantized, samples):
    edge = Session(build_file(quantized))
    report = compare(edge, OwnRuntime(graph), samples)
    return float(np.mean([o.sqnr_db for o in report.outputs]))


def test_the_searched_observer_is_no_worse_than_the_fixed_ones_on_new_samples(net):
    calib, fresh = samples_for(1, 8, 8, 3), samples_for(1, 8, 8, 3, seed=6)
    scores = {o: score_of(net, quantize_model(net, calib, o).graph, fresh) for o in OBSERVERS}
    assert scores["auto"] > 15 and scores["auto"] > max(scores.values()) - 1.0, scores


def test_the_same_samples_give_the_same_bytes(net):
    calib = samples_for(1, 8, 8, 3)
    once, again = (build_file(quantize_model(net, calib).graph) for _ in range(2))
    assert once == again


def test_weights_that_are_rounded_later_are_the_same(net):
    calib = samples_for(1, 8, 8, 3)
    calib[7]["x"] *= np.float32(100)
    later = quantize_model(net, calib, promotes=True)
    assert later.finish is not None and not later.options.rounded
    assert later.finished().outliers == later.outliers != []
    once = quantize_model(net, calib)
    assert once.finish is None and once.options.rounded and once.finished() is once
    assert build_file(later.finished().graph) == build_file(once.graph)


def test_a_model_that_gives_only_the_class_is_tuned_by_its_scores(g):
    x = g.conv(g.input("x", 1, 8, 8, 3), 8, act_min=0.0)
    flat = g.emit("Reshape", g.conv(x, 2, kernel=1), shape=(1, 128))
    w = g.const(g.rng.normal(size=(10, 128)) * 0.1)
    logits = g.emit("FullyConnected", flat, w, None, act_min=-np.inf, act_max=np.inf)
    best = g.emit("ArgMax", logits, axis=1, keepdims=0, select_last_index=0)
    calib, fresh = samples_for(1, 8, 8, 3), samples_for(1, 8, 8, 3, count=200, seed=6)
    graph = g.output(best)
    truth = Session(build_file(graph))

    def agreed(observer):
        done = quantize_model(graph, calib, observer)
        edge = Session(build_file(done.graph))
        both = [(truth.run(s)[best.name], edge.run(s)[best.name]) for s in fresh]
        return sum(a.item() == b.item() for a, b in both), done

    (least, _), (found, done) = agreed("minmax"), agreed("auto")
    assert found >= least and done.sqnr_db > 15, (least, found, done.sqnr_db)


def test_progress_and_counts(net, monkeypatch):
    seen = []
    monkeypatch.setattr(room, "ROOMS", ())  # ranges with room are not searched
    monkeypatch.setitem(quantize_model.__globals__, "SEARCHED_LOSS", 0.0)
    done = quantize_model(net, samples_for(1, 8, 8, 3), progress=lambda *step: seen.append(step))
    assert seen[0] == ("calibrating", 1, 24) and seen[23] == ("calibrating", 24, 24)
    assert done.samples == 24 and done.trials >= sum(s[0] == "searching ranges" for s in seen) > 5
    assert all(step <= total for _, step, total in seen)


def test_statistics_cover_inputs_aliases_and_every_operator(net):
    found = calibrate(net, samples_for(1, 8, 8, 3))
    names = {v.name for v in net.values() if v.const is None}
    assert found.stats.keys() == names and all(s.count for s in found.stats.values())
    assert found.stats["x"].minimum < 0 < found.stats["x"].maximum


def test_samples_are_kept_evenly_and_within_bounds(g):
    graph = g.output(g.conv(g.input("x", 1, 2, 2, 1), 1))
    found = calibrate(graph, (s for s in samples_for(1, 2, 2, 1, count=3 * KEPT_SAMPLES)))
    assert found.samples == 3 * KEPT_SAMPLES and KEPT_SAMPLES / 2 <= len(found.kept) <= KEPT_SAMPLES


def test_no_samples_and_unknown_observers_are_refused(net):
    with pytest.raises(UserError, match="no calibration samples"):
        quantize_model(net, [])
    with pytest.raises(UserError, match="no observer 'best'; there are: auto, minmax"):
        quantize_model(net, samples_for(1, 8, 8, 3), "best")


def test_a_gain_counts_only_against_its_spread():
    signal = np.array([1.0])
    base = Score(np.full((1, 16), 1e-3), signal)
    steady = Score(np.full((1, 16), 0.9e-3), signal)
    lucky = Score(np.where(np.arange(16) == 3, 0.0, 1e-3)[None], signal)
    assert steady.beats(base, 0.01) and not base.beats(steady, 0.01)
    assert lucky.mean_db > base.mean_db and not lucky.beats(base, 0.0)
    assert not steady.beats(base, 3.0)


def test_answers_of_zeros_are_no_gain_on_worse_ones():
    signal = np.full(1, 16.0)
    worse, zeros, usable = (Score(np.full((1, 16), n), signal) for n in (10.0, 1.0, 0.1))
    assert zeros.mean_db == 0 and zeros.gain_db(worse) > 7
    assert not zeros.beats(worse, 0.0) and usable.beats(worse, 0.0)


def test_noise_is_compared_with_none():
    exact, noisy = (Score(np.full((2, 4), n), np.ones(2)) for n in (0.0, 1e-3))
    assert exact.gain_db(exact) == 0.0 and not exact.beats(exact, 0.0)
    assert np.isfinite(noisy.gains(exact)).all() and noisy.gain_db(exact) < 0 < exact.gain_db(noisy)
    assert noisy.part(np.array([4e-3, 2e-3])) == pytest.approx(0.75)
    worst = Score(noisy.noise, np.array([1.0, 1e-3]))
    assert worst.part(np.array([4e-3, 0.0]), by_worst=True) == pytest.approx(1 / 1001)
    assert worst.part(np.array([0.0, 4e-3]), by_worst=True) == pytest.approx(1000 / 1001)
    silent = Score(noisy.noise, np.array([1.0, 0.0]))
    assert silent.part(np.array([0.0, 4e-3]), by_worst=True) == 0.0
    assert exact.part(np.zeros(2)) == 0.0 == Score(np.zeros((0, 4)), np.ones(0)).part(np.zeros(0))


def test_one_sample_holds_none_out_so_nothing_is_gained_there(net):
    done = quantize_model(net, samples_for(1, 8, 8, 3, count=1), "minmax", weights="int4")
    assert not done.options.rounded


MEMORY = """
import resource, sys
import numpy as np
from edgekit.toolkit import pipeline
from edgekit.toolkit.quantize import calibrate
graph, rng = pipeline.load(sys.argv[1]), np.random.default_rng(0)
(port,) = graph.inputs
make = lambda: {port.name: rng.uniform(size=port.shape).astype(np.float32)}
found = calibrate(graph, (make() for _ in range(int(sys.argv[2]))))
print(found.samples, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_does_not_grow_with_the_number_of_samples(digits):
    """KEPT_SAMPLES and a few more, then ten times as many."""
    peaks = []
    for count in (300, 3000):
        words = [sys.executable, "-c", MEMORY, str(digits / "digits.onnx"), str(count)]
        out = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        told = out.splitlines()[-1].split()  # behind what an editable install prints as it rebuilds
        assert int(told[0]) == count
        peaks.append(int(told[1]))
    assert peaks[1] < peaks[0] + 4096, f"{peaks} KiB"


def test_what_is_searched_for_gives_way_to_plain_ranges_unless_it_is_better(net):
    calib = samples_for(1, 8, 8, 3)
    run = _Quantization(QuantizeOptions(), net, calibrate(net, calib), None)
    plain, wider = dict(run.ranges), {n: (2 * a, 2 * b) for n, (a, b) in run.ranges.items()}
    run.ranges = wider  # as good, by its score
    run.prefer_plain()
    assert run.ranges == plain
    source, plan, _, score = run.first
    run.first = source, plan, wider, score
    run.prefer_plain()
    assert run.ranges == plain


def test_a_good_model_is_searched_only_with_more_effort(net, monkeypatch):
    descents = []
    monkeypatch.setattr(room, "ROOMS", ())
    monkeypatch.setattr(RangeSearch, "descend", lambda search: descents.append(search.patience))
    assert quantize_model(net, samples_for(1, 8, 8, 3)).sqnr_db > 26
    assert descents == []
    quantize_model(net, samples_for(1, 8, 8, 3), effort="best")
    assert descents == [4 * PATIENCE]
