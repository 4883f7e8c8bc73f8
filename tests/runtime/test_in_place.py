"""Outputs that lie over an input: only where every kernel table reads before it writes."""

from dataclasses import replace

import pytest

from edgekit.runtime_c._ffi import ffi, lib
from edgekit.toolkit.format.model import ABSENT
from edgekit.toolkit.format.schema import BinaryFn
from edgekit.toolkit.format.writer import write
from edgekit.toolkit.ops import ALL, definition
from edgekit.toolkit.runtime.model import aligned

from ..fuzz import same_size
from .conftest import CASES

# Kinds that are not called as the operator of the graph that becomes them.
GRAPH = {
    "Custom": "test::Mix",
    "Convert": "Cast",
    "MinMax": "Min",
    "Binary": "Add",
    "ChannelLut": "Lut",
    "Unary": "Abs",
    "Reduce": "ReduceSum",
    "Compare": "Equal",
}


def opens(model):
    data = write(model)
    memory = aligned(len(data))
    memory[:] = bytearray(data)
    at = ffi.cast("void *", memory.ctypes.data)
    return lib.ek_model_open(ffi.new("ek_model *"), at, len(data), lib.EK_OPEN_DEFAULT) == lib.EK_OK


def laid_over(model, op, i):
    """The model of this one operator, its output at its i-th input, or None where sizes differ."""
    if op.inputs[i] == ABSENT:
        return None
    into, out = (model.tensors[t] for t in (op.inputs[i], op.outputs[0]))
    if into.nbytes != out.nbytes:
        return None
    tensors = list(model.tensors)
    tensors[op.outputs[0]] = replace(out, offset=into.offset)
    outputs = [io for io in model.outputs if io.tensor == op.outputs[0]]
    return replace(model, tensors=tensors, ops=[op], outputs=outputs)


def definition_of(kind):
    name = kind.name
    names = [n for n in (*GRAPH, *ALL) if name.startswith(n)]
    longest = max(names, key=len)
    return definition(GRAPH.get(longest, longest))


@pytest.mark.parametrize("form", [c for c in CASES if c != "region"])  # a border is none alone
def test_the_planner_and_the_verifier_agree_who_works_in_place(corpus, form):
    model, tried = same_size.model(corpus, form), 0
    for op in model.ops:
        for i in range(len(op.inputs)):
            if found := laid_over(model, op, i):
                assert opens(replace(found, tensors=model.tensors)), "the file itself is refused"
                assert opens(found) == (i in definition_of(op.kind).inplace), f"input {i}"
                tried += 1
    assert bool(tried) == (form not in same_size.NEVER)


@pytest.mark.parametrize("form", ["add_s8", "mul_s16", "binary_f32"])
@pytest.mark.parametrize("over", [0, 1])
def test_an_input_that_is_walked_another_way_is_not_taken_over(corpus, form, over):
    """A transpose and a row that repeats would read what was written."""
    model = corpus.one_operator(form)
    op = next(op for op in model.ops if op.params["shape.dims.2"] == 3 and "shape.b.3" in op.params)
    dtype = model.tensors[op.inputs[0]].dtype
    straight, turned = (6, 3, 1, 1), (6, 1, 2, 1)
    for steps, good in ((straight, True), (turned, False)):
        f = corpus.FileMaker()
        shape = {"shape.dims": (1, 2, 3, 1), "shape.a": straight, "shape.b": straight}
        shape["shape.a" if over == 0 else "shape.b"] = steps
        params = {k: v for k, v in op.params.items() if not k.startswith("shape.")}
        if "fn" in params:
            params["fn"] = BinaryFn.Add
        ab = [f.input(dtype, 6), f.input(dtype, 6)]
        f.output(f.op(CASES[form], ab, dtype, 6, **corpus.indexed(**shape), **params))
        apart = f.model()
        assert opens(apart)
        assert opens(laid_over(apart, apart.ops[0], over)) == good


def test_a_condition_is_not_taken_over_nor_a_choice_that_is_walked_another_way(corpus):
    every, turned = (6, 3, 1, 1), (6, 1, 2, 1)
    for steps, good in ((every, True), (turned, False)):
        f = corpus.FileMaker()
        p = corpus.indexed(dims=(1, 2, 3, 1), condition=every, a=steps, b=every)
        given = [f.input(corpus.DType.UInt8, 6) for _ in range(3)]
        f.output(f.op(CASES["where"], given, corpus.DType.UInt8, 6, **p, element_bytes=1))
        apart = f.model()
        assert opens(apart)
        assert not opens(laid_over(apart, apart.ops[0], 0))
        assert opens(laid_over(apart, apart.ops[0], 1)) == good


@pytest.mark.parametrize(
    ("offset", "good"), [(16, True), (15, False), (17, False), (21, False), (22, True), (10, True)]
)
def test_an_output_takes_over_all_of_an_input_or_none(corpus, offset, good):
    chain = corpus.chain()
    y = replace(chain.tensors[1], offset=16)
    z = replace(chain.tensors[2], offset=offset)
    model = replace(chain, tensors=[chain.tensors[0], y, z])
    model = replace(model, memory=replace(chain.memory, arena_bytes=64))
    assert opens(model) == good


@pytest.mark.parametrize(("offset", "good"), [(0, False), (1, True)])
def test_an_output_of_another_size_takes_over_no_input(corpus, offset, good):
    """A row of 4 is added to one element, which lies where the output begins, or elsewhere."""
    f = corpus.FileMaker()
    a, b = f.input(corpus.DType.Int8, 4), f.input(corpus.DType.Int8, 1)
    shape = {"shape.dims": (1, 1, 1, 4), "shape.a": (4, 4, 4, 1), "shape.b": (0, 0, 0, 0)}
    p = {"a_multiplier": 1, "b_multiplier": 1, "bias": 0, "shift": 0, "qmin": -128, "qmax": 127}
    f.output(f.op(CASES["add_s8"], [a, b], corpus.DType.Int8, 4, **corpus.indexed(**shape), **p))
    out = f.tensors[-1]
    f.tensors[b] = replace(f.tensors[b], offset=out.offset if offset == 0 else out.offset - 1)
    assert opens(f.model()) == good


@pytest.mark.parametrize("wider", [True, False])
def test_an_operator_in_place_changes_no_sizes(corpus, wider):
    """Requantize takes over its input, but not from int8 to int16 nor back."""
    model = corpus.one_operator("requantize")
    op = model.ops[0 if wider else 1]
    x, y = op.inputs[0], op.outputs[0]
    model = replace(model, ops=[op], outputs=[io for io in model.outputs if io.tensor == y])
    assert opens(model)
    tensors = list(model.tensors)
    tensors[y] = replace(tensors[y], offset=tensors[x].offset)
    assert not opens(replace(model, tensors=tensors))
