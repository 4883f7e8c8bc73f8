"""A mix that is dear is made once more, from a plain start."""

from __future__ import annotations

from dataclasses import replace

from edgekit.toolkit import pipeline
from edgekit.toolkit.quantize import Budget, fit_budget, quantize_model
from edgekit.toolkit.quantize.mixed import cheaper, is_dear
from edgekit.toolkit.quantize.optimize import optimize

from .test_mixed import fitted, net, noisy_samples, pack

__all__ = ["net"]


def test_a_dear_mix_is_compared_with_a_plain_one(net):
    done = quantize_model(net, noisy_samples(), "minmax", rounding="nearest")
    found = replace(fitted(done, min_sqnr=20.0), exponents={"a": (0,) * 8})
    int8 = found.mixed.int8
    small, large = (replace(int8, file_bytes=int(f * int8.file_bytes)) for f in (1.05, 2))
    near, dear = (replace(found, mixed=replace(found.mixed, chosen=p)) for p in (small, large))
    assert found.mixed.met and is_dear(dear)
    assert not is_dear(near) and not is_dear(replace(dear, exponents={}))
    plain = replace(near, exponents={}, mixed=replace(near.mixed, int8=large, trials=3))
    best = cheaper(dear, plain)
    assert best.exponents == {} and best.mixed.chosen == small and best.mixed.int8 == int8
    assert best.mixed.trials == found.mixed.trials + 3
    assert int8 in best.mixed.pareto and small in best.mixed.pareto
    for bits, again in ((8, True), (4, False)):
        options = replace(done.options, rounded={("a", bits): None})
        assert is_dear(replace(dear, exponents={}, options=options)) == again
    missed = replace(plain, mixed=replace(plain.mixed, met=False))
    assert cheaper(dear, missed).mixed.chosen == large


def test_both_mixes_may_become_the_file(digits, tmp_path, monkeypatch):
    asked, made = Budget(min_sqnr=36.0), []

    def remembering(quantize):
        def remember(*given, **options):
            made.append(options.get("plain", False))
            return quantize(*given, **options)

        return remember

    for name in ("quantize_model", "optimize"):
        monkeypatch.setattr(pipeline, name, remembering(getattr(pipeline, name)))
    monkeypatch.setattr(pipeline, "is_dear", lambda done: True)
    path = tmp_path / "two.edge"
    model, samples = digits / "digits.onnx", digits / "calib.npz"
    found = pipeline.quantize(model, samples, path, observer="minmax", budget=asked)
    assert made == [False, True] and found.mixed.met
    assert pipeline.check(path, model, samples, layers=True, limit=8)


def test_a_plain_start_has_the_nearest_weights_and_may_round_them_for_a_mix(net):
    done = quantize_model(net, noisy_samples(), "minmax", rounding="gptq")
    plain = optimize(net, done.given, "minmax", rounding="gptq", plain=True)
    nearest = quantize_model(net, noisy_samples(), "minmax", rounding="nearest")
    assert done.options.rounded and not plain.options.rounded and not plain.exponents
    assert pack(plain.graph) == pack(nearest.graph)
    assert plain.rounding == done.rounding == "gptq"
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
