"""Who shares memory with whom: graphs are played through byte by byte, and lifetimes counted."""

from dataclasses import replace

import numpy as np
import pytest

from edgekit.toolkit.build import build_model
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.format.schema import Place
from edgekit.toolkit.format.writer import write
from edgekit.toolkit.ir import Graph, Node, Port, QuantParams, TensorType, Value
from edgekit.toolkit.lowering.nodes import Blob
from edgekit.toolkit.ops import definition
from edgekit.toolkit.plan.buffers import assign
from edgekit.toolkit.plan.memory import place
from edgekit.toolkit.retarget import retarget
from edgekit.toolkit.runtime import Session

IN_PLACE = {"Sigmoid": {0}, "Add": {0, 1}}
"""Operators here that read an element before they write it."""


class Net:
    """A float graph in the making; `net(op, *inputs, **attrs)` appends a node."""

    def __init__(self, *sizes):
        self.graph, self.values = Graph(), []
        for i, size in enumerate(sizes):
            value = Value(f"x{i}", TensorType(np.dtype(np.float32), (size,)))
            self.graph.inputs.append(Port(value.name, value, 1, value.shape))
            self.values.append(value)

    def __call__(self, op, *inputs, **attrs):
        node = Node(op, list(inputs), [], attrs, f"v{len(self.values)}")
        node.outputs = [Value(node.name, t) for t in definition(op).infer(node)]
        self.graph.nodes.append(node)
        self.values.append(node.output)
        return node.output

    def done(self, *outputs):
        self.graph.outputs = [Port(v.name, v, 1, v.shape) for v in outputs]
        return self.graph


def random_graph(seed):
    """Four inputs, one of a single element, which need not be read, and up to nine operators."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 60))
    net = Net(*(size if rng.random() < 0.7 else int(rng.integers(1, 60)) for _ in range(3)), 1)
    for _ in range(int(rng.integers(2, 10))):
        v = net.values[int(rng.integers(len(net.values)))]
        alike = [
            w for w in net.values if w.shape in (v.shape, (1,)) and len(w.shape) == len(v.shape)
        ]
        op = rng.choice(["Sigmoid", "Add", "Concat", "Reshape"], p=[0.3, 0.35, 0.1, 0.25])
        if op == "Sigmoid":
            net(op, v)
        elif op == "Reshape":
            net(op, v, shape=(v.type.size,) if len(v.shape) == 2 else (v.type.size, 1))
        else:
            other = alike[int(rng.integers(len(alike)))]
            net(op, v, other, **({"axis": 0} if op == "Concat" else {}))
    roots = roots_of(net.graph)
    given = {p.value for p in net.graph.inputs}
    made = [n.output for n in net.graph.nodes if roots[n.output] not in given]
    made = made or [net("Sigmoid", net.values[0])]
    chosen = rng.choice(len(made), min(len(made), int(rng.integers(1, 4))), replace=False)
    return net.done(*(made[i] for i in chosen))


def roots_of(graph):
    """Value -> what holds its elements: the value behind which there are only Reshapes."""
    roots = {p.value: p.value for p in graph.inputs}
    for node in graph.nodes:
        x = node.input(0)
        roots[node.output] = roots[x] if node.op == "Reshape" else node.output
    return roots


class Memory:
    """An arena of which each byte knows whose it is."""

    def __init__(self, size):
        self.owner = np.full(size, None, object)

    def write(self, who, offset, size):
        assert offset + size <= len(self.owner)
        self.owner[offset : offset + size] = who

    def check(self, who, offset, size):
        assert all(o is who for o in self.owner[offset : offset + size]), f"{who} was overwritten"


def play(graph, at, total):
    """Run the graph in an arena of `total` bytes, with each value `at` an offset."""
    roots, memory = roots_of(graph), Memory(total)
    for p in graph.inputs:
        memory.write(p.value, at[p.value], p.value.type.nbytes)
    for node in graph.nodes:
        y = node.output
        for v in node.dynamic_inputs:
            memory.check(roots[v], at[v], v.type.nbytes)
        if node.op == "Reshape":
            assert at[y] == at[node.input(0)]
            continue
        for i, v in enumerate(node.inputs):
            apart = at[v] + v.type.nbytes <= at[y] or at[y] + y.type.nbytes <= at[v]
            same = at[v] == at[y] and v.type.nbytes == y.type.nbytes
            assert apart or (same and i in IN_PLACE.get(node.op, ())), f"{node} writes into {v}"
        memory.write(y, at[y], y.type.nbytes)
    for p in graph.outputs:
        memory.check(roots[p.value], at[p.value], p.value.type.nbytes)


def lifetimes(graph):
    """Root -> (first step, last step) in which it is needed."""
    roots, end = roots_of(graph), len(graph.nodes) + 1
    steps = {p.value: [0] for p in graph.inputs}
    for step, node in enumerate(graph.nodes, 1):
        steps.setdefault(roots[node.output], [step])
        if node.op != "Reshape":
            for v in node.inputs:
                steps[roots[v]].append(step)
    for p in graph.outputs:
        steps[roots[p.value]].append(end)
    return {v: (min(found), max(found)) for v, found in steps.items()}


@pytest.mark.parametrize("block", range(10))
def test_nothing_is_overwritten_that_is_needed(block):
    for seed in range(40 * block, 40 * block + 40):
        graph = random_graph(seed)
        buffers, buffer_of = assign(graph, graph.nodes)
        layout = place(buffers, 4)
        play(graph, {v: layout.offsets[i] for v, i in buffer_of.items()}, layout.total)


@pytest.mark.parametrize("block", range(10))
def test_a_buffer_lives_as_long_as_what_is_in_it(block):
    for seed in range(40 * block, 40 * block + 40):
        graph = random_graph(seed)
        lives = lifetimes(graph)
        buffers, buffer_of = assign(graph, graph.nodes)
        for i, buffer in enumerate(buffers):
            held = [lives[v] for v in lives if buffer_of[v] == i]
            # A Reshape that nobody reads may keep what it renames.
            names = [s for s, n in enumerate(graph.nodes, 1) if buffer_of[n.output] == i]
            last = max(b for _, b in held)
            assert buffer.first == min(a for a, _ in held), seed
            assert last <= buffer.last <= max([last, *names]), seed


def arena(graph):
    return build_model(graph).memory.arena_bytes


def test_what_small_graphs_need_is_known():
    n = 64  # bytes of each tensor; the arena is counted in 16
    net = Net(16)
    a = net("Sigmoid", net("Sigmoid", net.values[0]))
    assert arena(net.done(a)) == n
    net = Net(16, 16)  # both are written before the first operator
    a = net("Sigmoid", net.values[0])
    assert arena(net.done(net("Add", a, net.values[1]))) == 2 * n
    net = Net(16)
    a = net("Reshape", net("Sigmoid", net.values[0]), shape=(16, 1))
    assert arena(net.done(net("Sigmoid", a))) == n
    net = Net(16)
    a = net("Sigmoid", net.values[0])
    assert arena(net.done(net("Add", a, a))) == n
    net = Net(16)
    a = net("Sigmoid", net.values[0])
    assert arena(net.done(net("Add", a, net.values[0]))) == 2 * n
    net = Net(16)
    a = net("Concat", net.values[0], net.values[0], axis=0)
    assert arena(net.done(a)) == 3 * n
    net = Net(16)  # what nobody reads is not kept
    a = net("Concat", net.values[0], net.values[0], axis=0)
    b = net("Reshape", a, shape=(32, 1))
    c = net("Sigmoid", b)
    assert arena(net.done(c, net("Concat", c, c, axis=0))) == 6 * n


def test_an_input_of_which_another_input_is_a_view_is_not_taken_over():
    net = Net(16)
    a = net("Sigmoid", net.values[0])
    b = net("Reshape", a, shape=(1, 16))
    y = net("Add", a, b)
    graph = net.done(y)
    _, buffer_of = assign(graph, graph.nodes)
    assert buffer_of[a] == buffer_of[b] != buffer_of[y]


@pytest.mark.parametrize("sizes", [(16, 1), (1, 16)])
def test_an_input_of_another_size_is_not_taken_over(sizes):
    net = Net(*sizes)
    y = net("Add", *net.values)
    graph = net.done(y)
    _, buffer_of = assign(graph, graph.nodes)
    small = net.values[sizes.index(1)]
    assert buffer_of[y] == buffer_of[net.values[sizes.index(16)]] != buffer_of[small]


def test_a_wider_input_is_not_taken_over():
    wide = TensorType(np.dtype(np.int16), (16,))
    x = Value("x", wide, quant=QuantParams.int16(0.1))
    y = Value("y", TensorType(np.dtype(np.int8), (16,)), quant=QuantParams((0.1,)))
    graph = Graph(
        [Node("Requantize", [x], [y])], [Port("x", x, 5, (16,))], [Port("y", y, 3, (16,))]
    )
    _, buffer_of = assign(graph, graph.nodes)
    assert buffer_of[x] != buffer_of[y]


@pytest.mark.parametrize("block", range(4))
def test_a_plan_for_a_target_overwrites_nothing_and_is_as_small(block):
    """No operator here has scratch or packed weights: the file for a target is a generic one."""
    for seed in range(20 * block, 20 * block + 20):
        graph = random_graph(seed)
        generic = build_model(graph)
        data = write(generic)
        made = read(retarget(data, generic, "cortex_m_mve"))
        outputs = [(io.name, io.tensor) for io in made.outputs]
        assert outputs == [(io.name, io.tensor) for io in generic.outputs]
        for tensors in (generic.tensors, made.tensors):
            assert all(t.offset % 16 == 0 for t in tensors if t.place == Place.Arena)
        feed = {p.name: np.linspace(-3, 3, p.value.type.size, dtype="f4") for p in graph.inputs}
        want = Session(data).run(feed)
        got = Session(write(replace(made, target="generic"))).run(feed)
        truth = in_numpy(graph, feed)
        for name in want:
            np.testing.assert_allclose(want[name], truth[name], atol=1e-5)
            np.testing.assert_allclose(got[name], truth[name], atol=1e-5)
        assert made.memory.arena_bytes <= generic.memory.arena_bytes, seed


def in_numpy(graph, feed):
    values = {p.value: feed[p.name].astype(np.float64) for p in graph.inputs}
    for node in graph.nodes:
        given = [values[v] for v in node.inputs]
        if node.op == "Sigmoid":
            made = 1 / (1 + np.exp(-given[0]))
        elif node.op == "Add":
            made = given[0] + given[1]
        elif node.op == "Concat":
            made = np.concatenate(given)
        else:
            made = given[0].reshape(node.output.shape)
        values[node.output] = made
    return {p.name: values[p.value] for p in graph.outputs}


def test_constants_lie_once_for_each_alignment():
    blob = Blob()
    odd = blob.add(np.arange(5, dtype=np.int8), align=1)
    content = np.arange(4, dtype=np.int32)
    loose = blob.add(content, align=1)
    strict = blob.add(content, align=16)
    assert (odd, loose, strict % 16) == (0, 5, 0)
    assert blob.add(content, align=1) == loose and blob.add(content, align=16) == strict
    for at in (loose, strict):
        np.testing.assert_array_equal(np.frombuffer(blob.data, "<i4", 4, at), content)


def test_a_view_that_nothing_reads_needs_nothing():
    net = Net(96)
    a = net("Concat", net.values[0], net.values[0], axis=0)
    y = net("Sigmoid", net("Slice", a, starts=(0,), sizes=(8,), steps=(1,)))
    z = net("Concat", *[net("Concat", y, y, axis=0)] * 40, axis=0)
    model = build_model(net.done(z))
    (viewed,) = [t for t in model.tensors if t.shape == (192,)]
    model.tensors.append(replace(viewed, shape=(2, 96)))
    made = read(retarget(write(model), model, "cortex_m_mve"))
    assert made.memory.arena_bytes == model.memory.arena_bytes
