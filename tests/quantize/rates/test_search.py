"""Coarser weights for an entropy code: within the guard, within a budget, or not at all."""

import shutil

import numpy as np
import pytest

from edgekit.toolkit import pipeline
from edgekit.toolkit.compress.weight_storage import LEAST_USES
from edgekit.toolkit.device.bench import bench
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.format.schema import WeightCodec
from edgekit.toolkit.quantize import Budget
from edgekit.toolkit.runtime import Session


def quantized(digits, folder, name, **options):
    out = folder / f"{name}.edge"
    options = {"observer": "minmax", "limit": 32, "strip": True, **options}
    done = pipeline.quantize(digits / "digits.onnx", digits / "calib.npz", out, **options)
    return done, out.read_bytes()


@pytest.fixture(scope="module")
def made(digits, tmp_path_factory):
    folder = tmp_path_factory.mktemp("rates")
    return {how: quantized(digits, folder, how, compress=how) for how in ("fast", "small")}


def right(digits, data):
    session, samples = Session(data), np.load(digits / "eval.npz")
    (name,) = [io.name for io in session.inputs]
    labels = next(samples[k] for k in samples.files if k != name)
    answers = [next(iter(session.run({name: x[None]}).values())) for x in samples[name]]
    return np.mean([a.argmax() == y for a, y in zip(answers, labels.ravel(), strict=True)])


def test_small_is_smaller_by_a_third_and_answers_as_well(digits, made):
    (plain, whole), (small, data) = made["fast"], made["small"]
    assert plain.rates is None
    assert small.counted_bytes < 0.67 * plain.counted_bytes
    assert right(digits, data) >= right(digits, whole) - 0.005
    assert all(op.codec in (WeightCodec.Huffman, WeightCodec.Plain) for op in read(data).ops)


def test_what_it_says_is_what_was_measured_on_samples_held_out(made):
    small, _ = made["small"]
    rates = small.rates
    assert small.held_out
    assert small.sqnr_db == rates.after.sqnr_db
    assert rates.before.sqnr_db > rates.after.sqnr_db >= 20
    assert rates.before.file_bytes > rates.after.file_bytes
    assert rates.after in rates.pareto
    assert small.to_json()["rates"]["layers"] == rates.layers > 0


def test_a_limit_of_size_takes_the_finest_that_fits(digits, made, tmp_path):
    least, most = made["small"][0].counted_bytes, made["fast"][0].counted_bytes
    limit = (least + most) // 2
    done, _ = quantized(digits, tmp_path, "fits", compress="small", budget=Budget(max_bytes=limit))
    assert done.mixed.met
    assert 0.98 * limit < done.counted_bytes <= limit
    assert done.sqnr_db > made["small"][0].sqnr_db
    assert not done.mixed.nodes  # no layer on 4 bits


def test_a_limit_of_noise_is_kept(digits, made, tmp_path):
    done, _ = quantized(digits, tmp_path, "quiet", compress="small", budget=Budget(min_sqnr=30.0))
    assert done.mixed.met
    assert done.mixed.chosen.sqnr_db >= 30
    assert done.counted_bytes < 0.67 * made["fast"][0].counted_bytes


def test_balanced_leaves_layers_that_use_each_weight_once(digits, tmp_path):
    done, data = quantized(digits, tmp_path, "balanced", compress="balanced")
    once = [op for op in read(data).ops if op.kind.name == "FullyConnected"]
    assert once
    assert all(op.codec == WeightCodec.Plain for op in once)
    assert all(layer.uses >= LEAST_USES for layer in done.layers_stored)


def test_a_limit_of_instructions_leaves_layers_as_they_are(digits, made, tmp_path):
    """What is said was counted in the emulator, with and without the codes."""
    if not shutil.which("arm-none-eabi-gcc") or not shutil.which("qemu-system-arm"):
        pytest.skip("needs arm-none-eabi-gcc and qemu-system-arm")
    small = made["small"][0]
    budget = Budget(max_instructions=380_000)
    device = {"targets": ["cortex_m4"], "report": tmp_path / "r.html"}
    done, _ = quantized(digits, tmp_path, "m4", compress="small", budget=budget, **device)
    (need,) = done.targets
    assert done.mixed.met and need.within
    assert done.mixed.chosen.instructions == need.instructions <= 380_000
    assert need.instructions == bench(done.output, "cortex_m4").instructions_per_inference
    assert small.counted_bytes < done.counted_bytes < made["fast"][0].counted_bytes
    coded = {layer.node: layer for layer in done.layers_stored}
    assert 0 < len(coded) < len(small.layers_stored)
    assert all(layer.instructions["cortex_m4"] > 0 for layer in coded.values())
    assert all(20 < layer.sqnr_db < 60 for layer in coded.values())
    before = done.rates.before.instructions
    assert need.instructions > before > 0.8 * need.instructions
    page = (tmp_path / "r.html").read_text()
    assert "Compressed weights" in page and f"{need.instructions:,}" in page


def test_instructions_are_those_of_a_device(digits, tmp_path):
    with pytest.raises(UserError, match="require --target"):
        quantized(digits, tmp_path, "x", budget=Budget(max_instructions=1))
    with pytest.raises(UserError, match="x86_64 is the host"):
        quantized(digits, tmp_path, "x", budget=Budget(max_instructions=1), targets=["x86_64"])
