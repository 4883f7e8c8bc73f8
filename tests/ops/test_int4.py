"""Weights of 4 bits: the int8 kernels of every table on what is read from nibbles."""

from dataclasses import replace

import numpy as np
import pytest

from edgekit.toolkit.build import build_model
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.format.schema import OpKind
from edgekit.toolkit.format.writer import write
from edgekit.toolkit.inspection import describe
from edgekit.toolkit.ir import constant
from edgekit.toolkit.ops import definition
from edgekit.toolkit.ops._int4 import effective, stored_int8
from edgekit.toolkit.runtime import Session

from .conftest import graph_of
from .test_conv2d import conv_node
from .test_fully_connected import fc_node

GROUPS = [0, 1, 3, 32]


def made_int4(rng, node, group):
    """The node with weights of nibbles, and multipliers of `group` weights unless that is 0."""
    w = node.input(1)
    flat = w.const.reshape(len(w.const), -1)
    nibbles = rng.integers(-7, 8, flat.shape).astype(np.int8)
    node.attrs["int4_group"] = group
    multipliers = None
    if group:
        shape = (len(flat), -(-flat.shape[1] // group))
        multipliers = node.attrs["int4_multipliers"] = rng.integers(1, 17, shape).astype(np.uint8)
    weights = effective(nibbles, group, multipliers)
    node.inputs[1] = constant(weights.reshape(w.const.shape), "w", w.quant)
    return node


def lowered(node):
    """The file's one operator, and its model."""
    model = build_model(graph_of(node))
    (op,) = model.ops
    return op, model


CONVOLUTIONS = {
    "1x1": ((2, 5, 6, 7), (9, 1, 1, 7), {}),
    "3x3": ((1, 9, 8, 12), (33, 3, 3, 12), {"pads": (1, 1, 1, 1)}),
    "odd": ((1, 7, 7, 3), (5, 3, 3, 3), {"stride": (2, 2), "pads": (1, 0, 0, 1)}),
    "grouped": ((2, 6, 5, 8), (12, 3, 2, 4), {"groups": 2, "dilation": (2, 1)}),
    "blocks": ((1, 4, 4, 300), (21, 3, 3, 300), {"pads": (1, 1, 1, 1)}),
    "depthwise": ((2, 9, 8, 19), (19, 3, 3, 1), {"groups": 19, "pads": (1, 1, 1, 1)}),
    "depthwise 5x5": ((1, 9, 9, 64), (64, 5, 5, 1), {"groups": 64, "stride": (2, 2)}),
}


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_agree_with_the_reference(integers, name, group):
    shape, weights, attrs = CONVOLUTIONS[name]
    node = made_int4(integers.rng, conv_node(integers.rng, shape, weights, **attrs), group)
    kind = OpKind.DepthwiseConv2dW4 if name.startswith("depth") else OpKind.Conv2dW4
    assert lowered(node)[0].kind is kind
    integers.agree(node)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize(("shape", "n"), [((1, 1), 1), ((3, 7), 5), ((4, 130), 70), ((1, 5000), 9)])
def test_fully_connected_agrees_with_the_reference(integers, shape, n, group):
    node = made_int4(integers.rng, fc_node(integers.rng, shape, n), group)
    assert lowered(node)[0].kind is OpKind.FullyConnectedW4
    integers.agree(node)


@pytest.mark.parametrize("group", GROUPS)
def test_the_file_gives_the_weights_back(integers, group):
    rng = integers.rng
    for node in (
        fc_node(rng, (3, 7), 5),
        conv_node(rng, (1, 7, 7, 3), (5, 3, 3, 3)),
        conv_node(rng, (1, 9, 8, 19), (19, 3, 3, 1), groups=19),
    ):
        op, model = lowered(made_int4(rng, node, group))
        flat = stored_int8(op.kind, op.params, model.blob)
        stored = definition(node.op).stored_weights(node, op.params, flat)
        np.testing.assert_array_equal(stored, node.input(1).const)


@pytest.mark.parametrize("multiplier", [0, 17, 255])
def test_a_multiplier_that_makes_no_int8_is_refused(integers, multiplier):
    for node in (
        fc_node(integers.rng, (3, 7), 5),
        conv_node(integers.rng, (1, 7, 7, 3), (5, 3, 3, 3)),
        conv_node(integers.rng, (1, 9, 8, 19), (19, 3, 3, 1), groups=19),
    ):
        op, model = lowered(made_int4(integers.rng, node, 3))
        Session(write(model))
        last = op.params["multipliers"] + node.attrs["int4_multipliers"].size - 1
        blob = bytearray(model.blob)
        blob[last] = multiplier
        with pytest.raises(UserError):
            Session(write(replace(model, blob=bytes(blob))))


def test_weights_take_half_the_bytes(integers):
    node = fc_node(integers.rng, (1, 512), 64)
    whole = len(lowered(node)[1].blob)
    halved = len(lowered(made_int4(integers.rng, node, 0))[1].blob)
    assert whole - halved == 512 * 64 // 2


def test_inspect_says_int4(integers):
    _, model = lowered(made_int4(integers.rng, fc_node(integers.rng, (1, 8), 4), 4))
    (op,) = describe(write(model), "m").ops
    assert (op.type, op.dtype, op.macs) == ("FullyConnected", "int4", 32)


@pytest.mark.parametrize(
    ("attrs", "message"),
    [
        ({"int4_group": 0}, "no nibbles"),
        ({"int4_group": 4}, r"int4_multipliers are not \[4, 2\]"),
        ({"int4_group": 4, "int4_multipliers": np.full((4, 3), 1, np.uint8)}, r"\[4, 2\]"),
        (
            {"int4_group": 4, "int4_multipliers": np.full((4, 2), 17, np.uint8)},
            r"outside \[1, 16\]",
        ),
        ({"int4_group": 4, "int4_multipliers": np.full((4, 2), 16, np.uint8)}, "do not divide"),
    ],
)
def test_weights_that_are_no_nibbles_are_refused(integers, attrs, message):
    node = fc_node(integers.rng, (1, 8), 4)
    node.attrs.update(attrs)
    with pytest.raises(ValueError, match=message):
        lowered(node)
