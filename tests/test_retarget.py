"""A file packed for a target reads, at every step, what the generic one reads there.

The plan of memory is walked through byte by byte: each byte of the arena knows which tensor wrote
it last, and what an operator finds in its inputs must be the same in both files.
"""

from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from edgekit import quantize, targets
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.format import model as m
from edgekit.toolkit.format.model import ABSENT
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.format.schema import Place
from edgekit.toolkit.format.structs import NO_BLOB
from edgekit.toolkit.format.tables import is_tight, table_of
from edgekit.toolkit.format.writer import write
from edgekit.toolkit.plan.records import lifetimes
from edgekit.toolkit.retarget import retarget
from edgekit.toolkit.runtime import Model, Planner

PLANS = sorted({targets.load(n).plan for n in targets.names()} - {""})
GARBAGE = -1


@pytest.fixture(scope="module")
def generic(tmp_path_factory):
    """Two inputs, one read last; outputs in the middle and of one tensor in two shapes; a view that
    is read first, and one that is read last of all."""
    rng = np.random.default_rng(3)
    weights = {
        "w": rng.normal(size=(12, 3, 3, 3)).astype(np.float32),
        "v": rng.normal(size=(8, 12, 3, 3)).astype(np.float32),
        "u": rng.normal(size=(8, 8, 1, 1)).astype(np.float32),
        "d": rng.normal(size=(8, 1, 3, 3)).astype(np.float32),
        "shape": np.array([1, 64, 8]),
        "k": rng.normal(size=(512, 4)).astype(np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["middle"]),
        helper.make_node("Conv", ["middle", "v"], ["b"], pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["b", "d"], ["c"], pads=[1, 1, 1, 1], group=8),
        helper.make_node("Conv", ["c", "u"], ["e"]),
        helper.make_node("Conv", ["e", "u"], ["f"]),
        helper.make_node("Flatten", ["c"], ["early"]),
        helper.make_node("Gemm", ["early", "k"], ["scores"]),
        helper.make_node("Add", ["f", "y"], ["g"]),
        helper.make_node("Transpose", ["g"], ["last"], perm=[0, 2, 3, 1]),
        helper.make_node("Reshape", ["last", "shape"], ["flat"]),
        helper.make_node("Flatten", ["e"], ["late"]),
        helper.make_node("Gemm", ["late", "k", "scores"], ["more"]),
    ]

    ins, outs = [port("x", 1, 3, 8, 8), port("y", 1, 8, 8, 8)], [
        port("middle", 1, 12, 8, 8), port("last", 1, 8, 8, 8), port("flat", 1, 64, 8),
        port("more", 1, 4)]  # fmt: skip
    return quantized(tmp_path_factory.mktemp("retarget"), nodes, weights, ins, outs)


@pytest.fixture(scope="module")
def in_place(tmp_path_factory):
    """The most memory is needed where operators write over their inputs, one of them a view."""
    rng = np.random.default_rng(4)
    weights = {k: rng.normal(size=(8, 8, 1, 1)).astype(np.float32) for k in "uvw"}
    nodes = [
        helper.make_node("Conv", ["x", "u"], ["a"]),
        helper.make_node("Tanh", ["a"], ["b"]),
        helper.make_node("Add", ["b", "x"], ["c"]),
        helper.make_node("Conv", ["c", "v"], ["d"]),
        helper.make_node("Conv", ["d", "w"], ["e"]),
        helper.make_node("GlobalAveragePool", ["e"], ["f"]),
        helper.make_node("Flatten", ["f"], ["row"]),
        helper.make_node("Softmax", ["row"], ["shares"], axis=1),
    ]
    ports = [port("x", 1, 8, 8, 8)], [port("d", 1, 8, 8, 8), port("shares", 1, 8)]
    return quantized(tmp_path_factory.mktemp("in_place"), nodes, weights, *ports)


def port(name, *shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def quantized(folder, nodes, weights, ins, outs):
    """The bytes of the generic int8 file."""
    constants = [onnx.numpy_helper.from_array(v, k) for k, v in weights.items()]
    graph = helper.make_graph(nodes, "g", ins, outs, constants)
    opset = [helper.make_opsetid("", 13)]
    onnx.save(helper.make_model(graph, opset_imports=opset), folder / "m.onnx")
    shapes = {p.name: [d.dim_value for d in p.type.tensor_type.shape.dim] for p in ins}
    rng = np.random.default_rng(5)
    feeds = [
        {k: rng.normal(size=s).astype(np.float32) for k, s in shapes.items()} for _ in range(4)
    ]
    quantize(folder / "m.onnx", feeds, folder / "m.edge", observer="minmax")
    return (folder / "m.edge").read_bytes()


@pytest.fixture(params=["generic", "in_place"])
def file(request):
    return request.getfixturevalue(request.param)


def walk(model):
    """What each operator, and at last the caller, finds in its inputs: who wrote each byte."""
    arena = np.full((model.memory.arena_bytes, 2), GARBAGE)

    def part(i):
        t = model.tensors[i]
        assert t.offset + t.nbytes <= len(arena), f"tensor {i} is not in the arena"
        return slice(t.offset, t.offset + t.nbytes)

    def written(i, step):
        where = part(i)
        arena[where] = [[step, k] for k in range(where.stop - where.start)]

    found = []
    for n, io in enumerate(model.inputs):
        written(io.tensor, -10 - n)
    for step, op in enumerate(model.ops):
        inputs = [i for i in op.inputs if i != ABSENT and model.tensors[i].place == Place.Arena]
        found.append([arena[part(i)].tolist() for i in inputs])
        arena[op.scratch_offset : op.scratch_offset + op.scratch_bytes] = GARBAGE
        for k, i in enumerate(op.outputs):
            written(i, 100 * step + k)
    found.append([arena[part(io.tensor)].tolist() for io in model.outputs])
    return found


@pytest.mark.parametrize("plan", PLANS)
def test_every_operator_reads_what_it_read_in_the_generic_file(file, plan):
    before = read(file)
    data = retarget(file, before, plan)
    Model(data)  # verifies
    packed = read(data)
    assert packed.target == plan
    wanted, got = walk(before), walk(packed)
    assert all(GARBAGE not in np.ravel(tensor) for step in wanted for tensor in step)
    for step, (a, b) in enumerate(zip(wanted, got, strict=True)):
        assert a == b, f"operator {step} of {len(before.ops)}"


@pytest.mark.parametrize("plan", PLANS)
def test_scratch_is_what_the_kernels_ask_for_and_the_arena_no_larger_than_it_must_be(file, plan):
    packed = read(retarget(file, read(file), plan))
    ends = [t.offset + t.nbytes for t in packed.tensors if t.place == Place.Arena]
    ends += [op.scratch_offset + op.scratch_bytes for op in packed.ops]
    assert packed.memory.arena_bytes == -(-max(ends) // 16) * 16
    assert packed.memory.scratch_bytes == max(op.scratch_bytes for op in packed.ops)
    assert packed.memory.arena_bound_bytes <= packed.memory.arena_bytes
    assert packed.memory.macs == read(file).memory.macs


@pytest.mark.parametrize("plan", PLANS)
def test_constants_are_those_of_the_generic_file_but_for_packed_weights(generic, plan):
    before, packed = read(generic), read(retarget(generic, read(generic), plan))
    kernels = Planner(plan).packed(Model(generic))
    for a, b, weights in zip(before.ops, packed.ops, kernels, strict=True):
        if weights:
            at = int(b.params["weights"])
            assert packed.blob[at : at + len(weights)] == weights and at % 16 == 0
        name = "requant.table"
        if "Conv2d" in a.kind.name and a.params[name] != NO_BLOB:
            then, now = (table_of(o.kind, before.element(o), o.params, f.blob)
                         for o, f in ((a, before), (b, packed)))  # fmt: skip
            assert then.wide().tobytes() == now.wide().tobytes()
            assert is_tight(a.params) and not is_tight(b.params)


def views(model):
    """Tensors of the arena that no operator writes, nor the caller."""
    written = {i for op in model.ops for i in op.outputs} | {io.tensor for io in model.inputs}
    arena = [i for i, t in enumerate(model.tensors) if t.place == Place.Arena]
    return [i for i in arena if i not in written]


@pytest.mark.parametrize("plan", PLANS)
def test_views_that_nothing_reads_take_no_memory(file, plan):
    before = read(file)
    assert views(before), "the model has none that is read"
    plain = read(retarget(file, before, plan))
    made = [before.tensors[i] for op in before.ops for i in op.outputs]
    halves = [replace(t, shape=(t.nbytes // 2,)) for t in made if t.place == Place.Arena]
    for unread in (*([half] for half in halves), halves):
        more = replace(before, tensors=[*before.tensors, *unread])
        first, last = lifetimes(more)
        added = range(len(before.tensors), len(more.tensors))
        assert all(0 < first[i] == last[i] <= len(before.ops) for i in added)
        packed = read(retarget(write(more), more, plan))
        assert packed.memory == plain.memory, unread
        assert walk(packed) == walk(plain)


@pytest.mark.parametrize("plan", PLANS)
def test_what_state_starts_as_moves_with_its_alignment(generic, plan):
    before = read(generic)
    starts, tensors, blob = {}, [*before.tensors], bytearray(before.blob)
    for size, offset in ((5, 0), (32, 16)):
        blob += bytes(-len(blob) % 16)
        starts[len(tensors)] = m.Start(len(blob))
        tensors.append(m.TensorRecord((size,), m.DType.Int8, Place.Persistent, offset))
        blob += bytes(range(100, 100 + size))
    memory = replace(before.memory, persistent_bytes=48)
    more = replace(before, tensors=tensors, starts=starts, blob=bytes(blob), memory=memory)
    packed = read(retarget(write(more), more, plan))
    assert set(packed.starts) == set(starts)
    for tensor, start in packed.starts.items():
        at, size = start.initial, tensors[tensor].nbytes
        assert packed.blob[at : at + size] == bytes(range(100, 100 + size)) and at % 16 == 0


def live(model):
    """By operator, the bytes of the arena that it or a later one reads, or that it writes."""

    def span(i):
        t = model.tensors[i]
        return set(range(t.offset, t.offset + t.nbytes)) if t.place == Place.Arena else set()

    needed = set().union(*(span(io.tensor) for io in model.outputs))
    found = []
    for op in reversed(model.ops):
        written = set().union(*(span(i) for i in op.outputs))
        read_now = set().union(*(span(i) for i in op.inputs if i != ABSENT))
        found.append(needed | written | read_now)
        needed = (needed - written) | read_now
    return found[::-1]


@pytest.mark.parametrize("plan", PLANS)
def test_tensors_live_no_longer_than_they_are_read(file, plan):
    """Sizes are multiples of the arena's alignment here: the bound is exact."""
    before = read(file)
    packed = read(retarget(file, before, plan))
    peak = max(
        len(alive) + -(-op.scratch_bytes // 16) * 16
        for alive, op in zip(live(before), packed.ops, strict=True)
    )
    assert packed.memory.arena_bound_bytes == peak


def test_a_packed_file_is_refused(generic):
    data = retarget(generic, read(generic), PLANS[0])
    with pytest.raises(UserError, match=f"already packed for {PLANS[0]}"):
        retarget(data, read(data), PLANS[1])
