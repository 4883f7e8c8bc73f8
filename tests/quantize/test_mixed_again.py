"""A mix that is dear is made once more, without scaled channels."""

from __future__ import annotations

from dataclasses import replace

from edgekit.toolkit import pipeline
from edgekit.toolkit.quantize import Budget, quantize_model
from edgekit.toolkit.quantize.mixed import cheaper, is_dear

from .test_mixed import fitted, net, noisy_samples

__all__ = ["net"]


def test_a_dear_mix_is_compared_with_one_without_scaled_channels(net):
    done = quantize_model(net, noisy_samples(), "minmax")
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
    missed = replace(plain, mixed=replace(plain.mixed, met=False))
    assert cheaper(dear, missed).mixed.chosen == large


def test_both_mixes_may_become_the_file(digits, tmp_path, monkeypatch):
    asked, made = Budget(min_sqnr=36.0), []

    def remembering(quantize):
        def remember(*given, **options):
            made.append(options.get("equalize", True))
            return quantize(*given, **options)

        return remember

    for name in ("quantize_model", "optimize"):
        monkeypatch.setattr(pipeline, name, remembering(getattr(pipeline, name)))
    monkeypatch.setattr(pipeline, "is_dear", lambda done: True)
    path = tmp_path / "two.edge"
    model, samples = digits / "digits.onnx", digits / "calib.npz"
    found = pipeline.quantize(model, samples, path, observer="minmax", budget=asked)
    assert made == [True, False] and found.mixed.met
    assert pipeline.check(path, model, samples, layers=True, limit=8)
