"""Constant channels in front of sums with a border: beyond it stands the zero point, not they.

Graphs are integer from the start, so each constant is what the test says. The truth is the file
of the graph as it was, run by the runtime.
"""

from itertools import product

import numpy as np
import pytest

from edgekit.toolkit.build import build_file
from edgekit.toolkit.compress import remove_constant_channels
from edgekit.toolkit.ir import Graph, Node, Port, QuantParams, TensorType, Value, constant
from edgekit.toolkit.ops import definition
from edgekit.toolkit.runtime import Session

INT8, INT16 = 3, 5  # TensorProto.DataType
INSIDE = (0, 0, 0, 0)
BORDERS = [(1, 1, 1, 1), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1), (2, 2, 2, 2)]


class Chain:
    """An integer graph under construction; `zero` is the zero point of all int8 activations."""

    def __init__(self, seed=0, zero=-9, wide=False):
        self.rng = np.random.default_rng(seed)
        self.zero, self.wide = (0, True) if wide else (zero, False)
        dtype = np.dtype(np.int16 if wide else np.int8)
        self.x = Value("x", TensorType(dtype, (1, 6, 7, 3)), quant=self.quant(0.05))
        code = INT16 if wide else INT8
        self.graph = Graph([], [Port("x", self.x, code, self.x.shape)], [])

    def quant(self, scale):
        return QuantParams.int16(scale / 256) if self.wide else QuantParams((scale,), self.zero)

    def emit(self, op, inputs, scale=0.4, **attrs):
        name = f"{op}{len(self.graph.nodes)}"
        y = Value(name, inputs[0].type, quant=self.quant(scale))
        node = Node(op, inputs, [y], attrs, name)
        y.type = definition(op).infer(node)[0]
        self.graph.nodes.append(node)
        return y

    def conv(self, x, weights, bias=None, groups=1, **attrs):
        w = constant(weights.astype(np.int8), f"w{len(self.graph.nodes)}")
        w.quant = QuantParams((0.01,) * len(weights), axis=0)
        bias = self.rng.integers(-300, 300, len(weights)) if bias is None else bias
        b = constant(bias.astype(np.int32), f"b{len(self.graph.nodes)}")
        b.quant = QuantParams((x.quant.scalar * 0.01,) * len(weights), axis=0)
        given = {"stride": (1, 1), "dilation": (1, 1), "pads": INSIDE, "groups": groups}
        return self.emit("Conv2d", [x, w, b], **(given | attrs))

    def head(self, constants):
        """A 1x1 convolution whose channels hold these steps above zero; None is one that varies."""
        weights = self.rng.integers(-127, 128, (len(constants), 1, 1, 3))
        bias = self.rng.integers(-300, 300, len(constants))
        ratio = self.x.quant.scalar * 0.01 / self.quant(0.4).scalar
        for c, steps in enumerate(constants):
            if steps is not None:
                weights[c], bias[c] = 0, round(steps / ratio)
        return self.conv(self.x, weights, bias)

    def sink(self, x, kernel=(3, 3), channels=5, **attrs):
        """A convolution that sums the channels of `x`; the graph's output."""
        weights = self.rng.integers(-127, 128, (channels, *kernel, x.shape[-1]))
        y = self.conv(x, weights, **attrs)
        self.graph.outputs.append(Port(y.name, y, INT16 if self.wide else INT8, y.shape))
        return y

    def answers(self):
        session = Session(build_file(self.graph))
        rng, limits = np.random.default_rng(9), np.iinfo(self.x.dtype)
        feeds = [rng.integers(limits.min, limits.max + 1, self.x.shape) for _ in range(5)]
        feeds += [np.full(self.x.shape, q) for q in (limits.min, 0, limits.max)]
        return [session.run_raw({"x": f.astype(self.x.dtype)}) for f in feeds]

    def pruned(self):
        """How many channels of the head go, which changes no byte of the outputs."""
        head = self.graph.nodes[0]
        before, channels = self.answers(), head.output.shape[-1]
        spread = max(np.unique(a).size for answer in before for a in answer.values())
        assert spread > 20, "saturated values show nothing"
        remove_constant_channels(self.graph)
        for old, new in zip(before, self.answers(), strict=True):
            for name in old:
                np.testing.assert_array_equal(new[name], old[name], err_msg=name)
        return channels - head.output.shape[-1]


CONSTANTS = [None, 0, 40, None, -30, 0, 1]
"""Two channels vary, two hold the zero point, three hold something else."""


@pytest.mark.parametrize("wide", [False, True], ids=["int8", "int16"])
@pytest.mark.parametrize("pads", BORDERS, ids=str)
def test_behind_a_border_only_the_zero_point_is_absorbed(pads, wide):
    chain = Chain(wide=wide)
    chain.sink(chain.head(CONSTANTS), pads=pads)
    assert chain.pruned() == 2


@pytest.mark.parametrize("wide", [False, True], ids=["int8", "int16"])
@pytest.mark.parametrize("stride", [(1, 1), (2, 1), (3, 2)])
@pytest.mark.parametrize("pads", [INSIDE, (1, 1, 1, 1), (0, 0, 2, 1)], ids=str)
def test_so_it_is_with_strides_and_dilation(pads, stride, wide):
    chain = Chain(1, wide=wide)
    chain.sink(chain.head(CONSTANTS), kernel=(3, 2), stride=stride, dilation=(1, 2), pads=pads)
    assert chain.pruned() == (2 if any(pads) else 5)


@pytest.mark.parametrize("wide", [False, True], ids=["int8", "int16"])
@pytest.mark.parametrize("zero", [-128, 5, 127])
def test_every_sum_that_reads_a_channel_must_absorb_it(zero, wide):
    chain = Chain(2, zero=zero, wide=wide)
    steps = -40 if zero == 127 else 40
    y = chain.head([None, None, 0, steps])
    chain.sink(y, kernel=(1, 1))
    chain.sink(y, pads=(1, 1, 1, 1))
    assert chain.pruned() == 1


@pytest.mark.parametrize("wide", [False, True], ids=["int8", "int16"])
@pytest.mark.parametrize("pads", [INSIDE, *BORDERS], ids=str)
def test_behind_a_depthwise_border_constants_vary(pads, wide):
    chain = Chain(3, wide=wide)
    y = chain.head(CONSTANTS)
    weights = chain.rng.integers(60, 128, (y.shape[-1], 3, 3, 1))
    y = chain.conv(y, weights, groups=y.shape[-1], pads=pads)
    chain.sink(y, kernel=(1, 1))
    # One step in a corner may be lost to rounding; three channels can go anyhow.
    assert chain.pruned() in ((2, 3) if any(pads) else (5,))


@pytest.mark.parametrize("pads", [INSIDE, (1, 1, 1, 1), (0, 0, 1, 1)], ids=str)
@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("op", ["MaxPool2d", "AvgPool2d"])
def test_a_border_of_a_pool_changes_a_constant_only_where_it_counts(op, counted, pads):
    chain = Chain(4)
    size = (5 + pads[0] + pads[2], 6 + pads[1] + pads[3])
    attrs = {"kernel": (2, 2), "stride": (1, 1), "dilation": (1, 1), "pads": pads, "out_hw": size}
    attrs |= {"count_include_pad": counted} if op == "AvgPool2d" else {}
    y = chain.emit(op, [chain.head(CONSTANTS)], **attrs)
    chain.sink(y, kernel=(1, 1))
    changed = op == "AvgPool2d" and counted and any(pads)
    assert chain.pruned() in ((2, 3) if changed else (5,))


@pytest.mark.parametrize("seed", range(25))
def test_no_byte_changes_in_any_chain(seed):
    rng = np.random.default_rng(seed)
    chain = Chain(seed, zero=int(rng.integers(-128, 128)), wide=bool(seed % 3 == 0))
    low, high = (-100, 101) if chain.wide else (-128 - chain.zero, 128 - chain.zero)
    steps = [None, 0, int(rng.integers(low, high)), int(rng.integers(low, high)), None, 0]
    y = chain.head([steps[i] for i in rng.permutation(len(steps))])
    pads = [tuple(int(p) for p in rng.integers(0, 3, 4) * rng.integers(0, 2)) for _ in range(3)]
    if rng.random() < 0.5:
        weights = rng.integers(-127, 128, (y.shape[-1], 2, 2, 1))
        y = chain.conv(y, weights, groups=y.shape[-1], pads=pads[0])
    chain.sink(y, kernel=(3, 2), pads=pads[1], stride=(int(rng.integers(1, 3)), 1))
    if rng.random() < 0.5:
        chain.sink(y, kernel=(1, 2), pads=pads[2])
    chain.pruned()


def test_a_sum_of_the_whole_border_is_what_the_runtime_does():
    """Independent of both files: the border of a sink, in whole numbers."""
    chain = Chain(5)
    y = chain.sink(chain.head(CONSTANTS), pads=(1, 1, 1, 1))
    assert chain.pruned() == 2
    head, sink = chain.graph.nodes
    x = np.random.default_rng(0).integers(-128, 128, chain.x.shape).astype(np.int8)
    middle = definition("Conv2d").integer(head, [x])[0].astype(int) - chain.zero
    w, b = sink.input(1).const.astype(int), sink.input(2).const
    acc = np.broadcast_to(b.astype(int), y.shape).copy()
    for (at, i), (row, j) in product(product(range(6), range(3)), product(range(7), range(3))):
        if 0 <= at + i - 1 < 6 and 0 <= row + j - 1 < 7:
            acc[0, at, row] += w[:, i, j] @ middle[0, at + i - 1, row + j - 1]
    real = acc * 0.4 * 0.01 / 0.4 + chain.zero
    got = Session(build_file(chain.graph)).run_raw({"x": x})[y.name]
    assert np.abs(np.clip(real, -128, 127) - got).max() <= 0.501
