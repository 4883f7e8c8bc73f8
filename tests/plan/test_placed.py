"""Scratch of weights in a Huffman code: 2 KB of the arena at most, and all that is free besides."""

import numpy as np
import pytest

from edgekit import targets
from edgekit.toolkit.build import build_model
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.format.writer import write
from edgekit.toolkit.ir import Graph, Node, Port, QuantParams, TensorType, Value, constant
from edgekit.toolkit.ops import definition
from edgekit.toolkit.plan.records import lifetimes
from edgekit.toolkit.retarget import retarget
from edgekit.toolkit.weight_codecs import Storage

PLANS = sorted({targets.load(n).plan for n in targets.names() if n.startswith("cortex_m")})
MOST = 2048


def layers(storage, channels=64, side=9):
    """A convolution of 40 weights a channel, depthwise ones and 1x1 ones in turn: as of kws."""
    rng, nodes = np.random.default_rng(5), []
    x = first = Value(
        "x", TensorType(np.dtype(np.int8), (1, 49, 10, 1)), quant=QuantParams((0.02,), 3)
    )

    def conv(x, shape, **attrs):
        w = np.clip(np.rint(rng.laplace(0, 6, shape)), -127, 127).astype(np.int8)
        scales = QuantParams(tuple(np.full(shape[0], 0.01)), axis=0)
        operands = [x, constant(w, f"w{len(nodes)}", scales)]
        operands.append(constant(np.zeros(shape[0], np.int32), f"b{len(nodes)}"))
        sizes = {"stride": (1, 1), "dilation": (1, 1), "pads": (1, 1, 1, 1), "groups": 1}
        node = Node("Conv2d", operands, [], {**sizes, **storage, **attrs}, f"conv{len(nodes)}")
        inferred = definition(node.op).infer(node)[0]
        node.outputs = [Value(node.name, inferred, quant=QuantParams((0.5,), 3))]
        nodes.append(node)
        return node.output

    x = conv(x, (channels, 10, 4, 1), stride=(2, 2), pads=(4, 1, 5, 1))
    for _ in range(2):
        x = conv(x, (channels, 3, 3, 1), groups=channels)
        x = conv(x, (channels, 1, 1, channels), pads=(0, 0, 0, 0))
    return Graph(nodes, [Port("x", first, 1, first.shape)], [Port("y", x, 1, x.shape)])


def planned(storage, plan):
    model = build_model(layers(storage))
    return read(retarget(write(model), model, plan))


@pytest.mark.parametrize("plan", PLANS)
def test_decoding_takes_at_most_2_kb_of_the_arena(plan):
    coded, plain = planned({"storage": Storage("Huffman")}, plan), planned({}, plan)
    assert all(op.is_coded for op in coded.ops)
    assert plain.memory.arena_bytes < coded.memory.arena_bytes <= plain.memory.arena_bytes + MOST


@pytest.mark.parametrize("plan", PLANS)
def test_scratch_is_what_no_tensor_needs(plan):
    model = planned({"storage": Storage("Huffman")}, plan)
    first, last = lifetimes(model)
    for step, op in enumerate(model.ops, 1):
        alive = [t for i, t in enumerate(model.tensors) if first[i] <= step <= last[i]]
        end = op.scratch_offset + op.scratch_bytes
        assert end <= model.memory.arena_bytes
        assert all(t.offset + t.nbytes <= op.scratch_offset or end <= t.offset for t in alive)
    used = [op.scratch_bytes for op in model.ops]
    assert min(used) > 0 and max(used) > MOST
