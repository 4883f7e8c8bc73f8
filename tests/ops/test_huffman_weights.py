"""Weights in a Huffman code: lossless; the int8 kernels of every table on what is read from it."""

from dataclasses import replace

import numpy as np
import pytest

from edgekit import targets
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.format.writer import write
from edgekit.toolkit.ir import constant
from edgekit.toolkit.ops import definition
from edgekit.toolkit.retarget import retarget
from edgekit.toolkit.runtime import Session, kernel_tables
from edgekit.toolkit.weight_codecs import CODECS, Storage, encode, stored_int8
from edgekit.toolkit.weight_codecs.huffman import _lengths

from .conv.test_conv2d import conv_node
from .matmul.test_fully_connected import fc_node
from .test_packed_weights import (
    CONVOLUTIONS,
    WIDE,
    agree_unpacked_at_every_run,
    lowered,
    some_of_each,
)


def drawn(rng, shape, spread=6.0):
    """Weights most of which are small, some of them at the ends of int8."""
    w = np.clip(np.rint(rng.laplace(0, spread, shape)), -127, 127).astype(np.int8)
    far = rng.random(shape) < 0.01
    return np.where(far, rng.choice(np.array([-128, 127, 99], np.int8), shape), w)


def coded(rng, node, spread=6.0):
    w = node.input(1)
    node.inputs[1] = constant(drawn(rng, w.const.shape, spread), "w", w.quant)
    node.attrs["storage"] = Storage("Huffman")
    return node


WEIGHTS = {
    "laplace": lambda rng: drawn(rng, (70, 130)),
    "narrow": lambda rng: drawn(rng, (9, 4000), 0.6),
    "uniform": lambda rng: rng.integers(-128, 128, (40, 64)).astype(np.int8),
    "zeros": lambda rng: np.zeros((5, 3), np.int8),
    "one weight": lambda rng: np.full((1, 1), -128, np.int8),
    "two values": lambda rng: rng.choice(np.array([-128, 127], np.int8), (12, 100)),
    "one each": lambda rng: np.arange(-128, 128).astype(np.int8).reshape(2, 128),
}


@pytest.mark.parametrize("depthwise", [False, True])
@pytest.mark.parametrize("name", WEIGHTS)
def test_what_is_encoded_comes_back(integers, name, depthwise):
    w = WEIGHTS[name](integers.rng)
    found = encode(w, Storage("Huffman"), depthwise=depthwise)
    blob = b"---" + found.weights.tobytes() + found.auxiliary.tobytes()
    at = 3 + len(found.weights)
    got = CODECS["Huffman"].decode(blob, 3, at, found.group, w.shape, depthwise)
    np.testing.assert_array_equal(got, w)


@pytest.mark.parametrize("spread", [0.4, 1.0, 3.0, 8.0])
def test_the_bytes_are_near_the_entropy(integers, spread):
    w = drawn(integers.rng, (64, 1024), spread)
    p = np.unique(w, return_counts=True)[1] / w.size
    found = encode(w, Storage("Huffman"))
    size = found.weights.size + found.auxiliary.size
    wanted = -(p * np.log2(p)).sum() * w.size / 8
    assert wanted < size < wanted + (0.26 if spread < 1 else 0.16) * w.size / 8


@pytest.mark.parametrize("counts", [[1, 1], [5, 0, 0], [1 << i for i in range(40)], [3] * 64])
def test_codes_are_complete_and_at_most_8_bits(counts):
    lengths = _lengths(np.array(counts), len(counts) - 1)
    assert lengths.max() <= 8 and (2.0 ** -lengths[lengths > 0]).sum() == 1


@WIDE
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_agree_with_the_reference(integers, name, wide):
    shape, weights, attrs = CONVOLUTIONS[name]
    node = coded(integers.rng, conv_node(integers.rng, shape, weights, wide=wide, **attrs))
    integers.agree(node)
    agree_unpacked_at_every_run(integers, node)


@WIDE
@pytest.mark.parametrize(
    ("shape", "n"), [((1, 1), 1), ((3, 7), 5), ((4, 130), 70), ((1, 5000), 9), ((1, 513), 40)]
)
def test_fully_connected_agrees_with_the_reference(integers, shape, n, wide):
    node = coded(integers.rng, fc_node(integers.rng, shape, n, wide=wide))
    integers.agree(node)
    agree_unpacked_at_every_run(integers, node)


@WIDE
@pytest.mark.parametrize("plan", sorted({"generic", targets.load("cortex_m55").plan}))
def test_one_row_takes_a_part_of_a_channel_at_a_time(integers, plan, wide):
    """Four channels of 1,500 weights, decoded and packed, would be 10 KB."""
    op, model = lowered(coded(integers.rng, fc_node(integers.rng, (1, 1500), 20, wide=wide)))
    if plan != "generic":
        (op,) = read(retarget(write(model), model, plan)).ops
    assert 0 < op.scratch_bytes <= 1024


@WIDE
def test_the_file_gives_the_weights_back(integers, wide):
    for node in some_of_each(integers.rng, wide):
        op, model = lowered(coded(integers.rng, node))
        flat = stored_int8(op.kind, op.params, model.blob)
        stored = definition(node.op).stored_weights(node, op.params, flat)
        np.testing.assert_array_equal(stored, node.input(1).const)


def opens(model):
    try:
        Session(write(model))
    except UserError:
        return False
    return True


def changed(model, at, value):
    blob = bytearray(model.blob)
    blob[at] = value
    return replace(model, blob=bytes(blob))


def test_a_code_that_is_not_complete_is_refused(integers):
    for node in some_of_each(integers.rng, False):
        op, model = lowered(coded(integers.rng, node))
        head, many = op.params["codec.auxiliary"], model.blob[op.params["codec.auxiliary"] + 1]
        assert opens(model)
        assert opens(changed(model, head, 77))  # other symbols
        assert not opens(changed(model, head + 1, 0)) and not opens(changed(model, head + 1, 64))
        for at in range(head + 2, head + 3 + many // 2):
            assert not opens(changed(model, at, model.blob[at] ^ 9))


def test_blocks_beyond_the_blob_and_odd_groups_are_refused(integers):
    for node in some_of_each(integers.rng, False):
        op, model = lowered(coded(integers.rng, node))
        head, many = op.params["codec.auxiliary"], model.blob[op.params["codec.auxiliary"] + 1]
        assert not opens(changed(model, head + 3 + -(-many // 2) + 1, 255))
        for field, value in (
            ("codec.group", 0),
            ("codec.group", 5),
            ("codec.auxiliary", len(model.blob) - 2),
            ("codec.auxiliary", 0xFFFFFFFF),
            ("weights", len(model.blob)),
        ):
            assert not opens(replace(model, ops=[replace(op, params={**op.params, field: value})]))


def test_any_bits_decode_alike_everywhere(integers):
    """Those of another code, and blocks that end too soon."""
    node = coded(integers.rng, fc_node(integers.rng, (4, 130), 70))
    op, model = lowered(node)
    start, end = op.params["weights"], op.params["codec.auxiliary"]
    blob = bytearray(model.blob)
    blob[start:end] = integers.rng.integers(0, 256, end - start).astype(np.uint8).tobytes()
    many = blob[end + 1]
    sizes = end + 3 + -(-many // 2)
    half = int.from_bytes(blob[sizes : sizes + 2], "little") // 2
    blob[sizes : sizes + 2] = half.to_bytes(2, "little")
    flat = stored_int8(op.kind, op.params, bytes(blob))
    blob += bytes(-len(blob) % 16)
    plain = {"weights": len(blob), "codec.id": 0, "codec.group": 0, "codec.auxiliary": 0}
    both = [replace(model, ops=[replace(op, params=p)], blob=bytes(blob) + flat.tobytes())
            for p in (op.params, {**op.params, **plain})]  # fmt: skip
    data = integers.data(node.inputs[0])
    for name in kernel_tables():
        coded_too, wanted = (Session(write(m), name).run_raw({"x": data})["out"] for m in both)
        np.testing.assert_array_equal(coded_too, wanted, err_msg=name)
