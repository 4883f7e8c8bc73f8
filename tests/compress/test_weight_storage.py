"""Weights in a Huffman code where it saves bytes: the file answers what it answered."""

import numpy as np
import pytest

from edgekit.toolkit import pipeline
from edgekit.toolkit.compress.weight_storage import LEAST_USES
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.format.schema import WeightCodec
from edgekit.toolkit.runtime import Session, kernel_tables


def quantized(digits, folder, name, **options):
    out, options = folder / f"{name}.edge", {"effort": "fast", **options}
    done = pipeline.quantize(digits / "digits.onnx", digits / "calib.npz", out, **options)
    return done, out.read_bytes()


def answers(data, table):
    session = Session(data, table)
    rng = np.random.default_rng(0)
    feed = {io.name: rng.integers(-128, 128, io.shape).astype(io.dtype) for io in session.inputs}
    return [session.run_raw(feed)[io.name] for io in session.outputs]


@pytest.mark.parametrize("weights", ["int8", "int4"])
def test_what_is_smaller_answers_the_same(digits, tmp_path, weights):
    made = {
        how: quantized(digits, tmp_path, how, weights=weights, compress=how)
        for how in ("fast", "balanced", "small")
    }
    sizes = [made[how][0].counted_bytes for how in ("fast", "balanced", "small")]
    assert sizes[0] >= sizes[1] >= sizes[2]
    assert weights == "int8" or sizes[0] > sizes[2]  # 8 bits are as good as random
    for table in kernel_tables():
        wanted = answers(made["fast"][1], table)
        for how in ("balanced", "small"):
            for got, want in zip(answers(made[how][1], table), wanted, strict=True):
                np.testing.assert_array_equal(got, want)


def test_the_layers_are_those_of_the_file(digits, tmp_path):
    done, data = quantized(digits, tmp_path, "small", compress="small", weights="int4")
    coded = [op for op in read(data).ops if op.codec != WeightCodec.Plain]
    assert len(coded) == len(done.layers_stored) > 0
    assert all(2 * layer.stored < layer.weights for layer in done.layers_stored)


def test_balanced_leaves_what_is_used_once(digits, tmp_path):
    done, _ = quantized(digits, tmp_path, "balanced", compress="balanced", weights="int4")
    coded = [layer for layer in done.layers_stored if layer.codec == "Huffman"]
    assert all(layer.uses >= LEAST_USES for layer in coded)


def test_groups_with_multipliers_stay(digits, tmp_path):
    done, _ = quantized(digits, tmp_path, "small", compress="small", weights="int4-group16")
    assert {"Nibbles", "Huffman"} >= {layer.codec for layer in done.layers_stored}


def test_an_unknown_name_is_refused(digits, tmp_path):
    with pytest.raises(UserError, match="no compress 'tiny'; there are: fast, balanced, small"):
        quantized(digits, tmp_path, "x", compress="tiny")
