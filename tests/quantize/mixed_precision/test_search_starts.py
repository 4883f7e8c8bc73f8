"""What mixes start from: rounded weights and what is known of them, or a plain start."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from edgekit.toolkit import pipeline, quantize_file
from edgekit.toolkit.build import build_file
from edgekit.toolkit.progress import silent
from edgekit.toolkit.quantize import Budget, fit_budget, quantize_model
from edgekit.toolkit.quantize.mixed_precision import cross_validation
from edgekit.toolkit.quantize.mixed_precision.accuracy_floor import quality_of
from edgekit.toolkit.quantize.mixed_precision.cross_validation import FoldWeights
from edgekit.toolkit.quantize.mixed_precision.fit import is_oversized, smaller_of
from edgekit.toolkit.quantize.mixed_precision.precision_change import PrecisionAssignment
from edgekit.toolkit.quantize.mixed_precision.search import PrecisionSearch
from edgekit.toolkit.quantize.optimize import optimize
from edgekit.toolkit.runtime import Session

from .test_search import fitted, net, noisy_samples, pack, sqnr

__all__ = ["net"]


def test_a_dear_mix_is_compared_with_a_plain_one(net):
    done = quantize_model(net, noisy_samples(), "minmax", rounding="nearest")
    found = replace(fitted(done, min_sqnr=20.0), exponents={"a": (0,) * 8})
    int8 = found.mixed.int8
    small, large = (replace(int8, file_bytes=int(f * int8.file_bytes)) for f in (1.05, 2))
    near, dear = (replace(found, mixed=replace(found.mixed, chosen=p)) for p in (small, large))
    assert found.mixed.met and is_oversized(found, dear)
    assert not is_oversized(found, near) and not is_oversized(replace(found, exponents={}), dear)
    plain = replace(near, exponents={}, mixed=replace(near.mixed, int8=large, trials=3))
    best = smaller_of(dear, plain)
    assert best.exponents == {} and best.mixed.chosen == small and best.mixed.int8 == int8
    assert best.mixed.trials == found.mixed.trials + 3
    assert int8 in best.mixed.pareto and small in best.mixed.pareto
    for bits, halves_of_it, again in ((8, ({},), True), (8, (), False), (4, ({},), False)):
        options = replace(done.options, rounded={("a", bits): None})
        assert is_oversized(replace(done, options=options, by_halves=halves_of_it), dear) == again
    noisier = replace(small, sqnr_db=small.sqnr_db - 1)
    worse = replace(near, mixed=replace(near.mixed, chosen=noisier))
    assert smaller_of(worse, plain).mixed.chosen == smaller_of(plain, worse).mixed.chosen == small
    missed = replace(plain, mixed=replace(plain.mixed, met=False))
    assert smaller_of(dear, missed).mixed.chosen == large


def test_both_mixes_may_become_the_file(digits, tmp_path, monkeypatch):
    asked, made = Budget(min_sqnr=36.0), []

    def remembering(quantize):
        def remember(*given, **options):
            made.append(options.get("plain", False))
            return quantize(*given, **options)

        return remember

    for name in ("quantize_model", "optimize"):
        monkeypatch.setattr(quantize_file, name, remembering(getattr(quantize_file, name)))
    monkeypatch.setattr(quantize_file, "is_oversized", lambda *_: True)
    path = tmp_path / "two.edge"
    model, samples = digits / "digits.onnx", digits / "calib.npz"
    found = pipeline.quantize(model, samples, path, observer="minmax", budget=asked)
    assert made == [False, True] and found.mixed.met
    assert pipeline.check(path, model, samples, layers=True, limit=8)


def test_a_plain_start_has_the_nearest_weights_and_may_round_them_for_a_mix(net):
    done = quantize_model(net, noisy_samples(12), "minmax")
    plain = optimize(net, done.given, "minmax", plain=True)
    nearest = quantize_model(net, noisy_samples(12), "minmax", rounding="nearest")
    assert done.options.rounded and not plain.options.rounded and not plain.exponents
    assert pack(plain.graph) == pack(nearest.graph)
    asked = optimize(net, done.given, "minmax", rounding="gptq", plain=True)
    assert asked.options.rounded and asked.rounding == "gptq"
    fine = quantize_model(
        net, noisy_samples(), "minmax", weights="int4-group16", rounding="adaround"
    )
    plain = optimize(
        net, fine.given, "minmax", weights="int4-group16", rounding="adaround", plain=True
    )
    assert plain.options.rounded and plain.rounding == "adaround"


def test_rounded_weights_that_nothing_judges_stay_as_they_are(net):
    done = quantize_model(net, noisy_samples(), "minmax", rounding="gptq")
    asked = Budget(min_sqnr=200.0, max_bytes=len(pack(done.plan.emit(done.ranges)[0])) + 64)
    found = fit_budget(done, asked, pack, rounding="nearest")
    assert not found.mixed.met and found.plan.options.rounded == done.options.rounded


def test_what_is_said_of_rounded_weights_is_of_those_for_other_samples(net):
    samples = noisy_samples(12)
    done = quantize_model(net, samples, "minmax")
    assert done.options.rounded and done.held_out
    weights = FoldWeights(replace(done, by_halves=()), True, silent)  # rounds anew
    floats, base, noise, signal = (
        Session(build_file(net)),
        PrecisionAssignment.of(done.options),
        0.0,
        0.0,
    )
    for part, (_, judging) in enumerate(weights.folds):
        edge = Session(pack(weights.plan(base, part).emit(done.ranges)[0]))
        for sample in samples[judging]:
            (truth,), (got,) = (list(s.run(sample).values()) for s in (floats, edge))
            signal += float((truth.astype(np.float64) ** 2).sum())
            noise += float(((got.astype(np.float64) - truth) ** 2).sum())
    assert done.sqnr_db == pytest.approx(10 * np.log10(signal / noise), abs=1e-3)
    assert done.sqnr_db < sqnr(net, done.graph, samples) - 0.3


def test_a_budget_has_the_weights_of_the_halves(net, monkeypatch):
    done = quantize_model(net, noisy_samples(12), "minmax")
    again = FoldWeights(replace(done, by_halves=()), True, silent)
    monkeypatch.setattr(cross_validation, "round_weights", None)  # not to be called
    known, base = FoldWeights(done, True, silent), PrecisionAssignment.of(done.options)
    for part in range(2):
        one, other = (pack(r.plan(base, part).emit(done.ranges)[0]) for r in (known, again))
        assert one == other
    found = fitted(done, min_sqnr=20.0)
    assert found.held_out and found.sqnr_db == done.sqnr_db


def test_a_mix_is_judged_with_the_weights_that_were_rounded_for_it(net):
    samples = noisy_samples(12)
    done = quantize_model(net, samples, "minmax")
    found = fitted(done, min_sqnr=done.sqnr_db + 10)
    assert found.mixed.met and found.held_out and found.by_halves != done.by_halves
    others = replace(found, by_halves=done.by_halves)
    own, int8 = (quality_of(each, pack, silent).worst[1] for each in (found, others))
    assert own > int8 + 1 and own == pytest.approx(found.sqnr_db, abs=1.5)


def test_where_nothing_fits_weights_are_those_for_all_samples(net):
    done = quantize_model(net, noisy_samples(12), "minmax")
    found = fitted(done, max_arena=1)
    assert not found.mixed.met and found.held_out and done.options.rounded
    assert pack(found.graph) == pack(done.graph) and found.sqnr_db == done.sqnr_db


def test_a_mix_that_rounds_no_weights_any_more_is_not_said_to(net):
    done = quantize_model(net, noisy_samples(), "minmax", rounding="gptq")
    found = fit_budget(done, Budget(min_sqnr=200.0), pack, rounding="nearest")
    assert done.plan.has_rounded and not found.plan.has_rounded


def test_one_sample_does_not_judge_weights_rounded_for_it(net):
    done = quantize_model(net, noisy_samples(1), "minmax")
    limit = len(pack(done.plan.emit(done.ranges)[0])) - 600
    found = fitted(done, max_bytes=limit)
    assert found.mixed.met and not found.plan.has_rounded and not found.mixed.held_out


def test_steps_that_rounding_for_the_mix_makes_needless_go(net, monkeypatch):
    done = quantize_model(net, noisy_samples(12), "minmax", rounding="gptq")
    ordinary, spared = PrecisionSearch.prune, []

    def counted(self, found, start, ranking):
        rest = ordinary(self, found, start, ranking)
        spared.append(len(found.changes) - len(rest.changes))
        return rest

    monkeypatch.setattr(PrecisionSearch, "prune", counted)
    assert fitted(done, min_sqnr=37.0).mixed.met
    assert len(spared) == 2 and spared[1] > 0
