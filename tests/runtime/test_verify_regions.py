"""Branches and loops: borders come in pairs, and nothing is read that may not have been written."""

from dataclasses import replace

import numpy as np
import pytest

from edgekit.toolkit.errors import UserError
from edgekit.toolkit.format.model import ABSENT
from edgekit.toolkit.format.schema import DType, OpKind, RegionFn
from edgekit.toolkit.format.writer import write
from edgekit.toolkit.runtime import Session

from ..fuzz.regions import border, copy, loop
from .test_verify_reads import opened, with_op

X = np.arange(12, dtype=np.int8)


def made(corpus, build):
    f = corpus.FileMaker()
    given = [f.input(DType.Int8, 12), f.input(DType.Int32, 1), f.input(DType.UInt8, 1)]
    f.output(build(f, *given))
    return f.model()


@pytest.fixture
def looped(corpus):
    """0 copy, 1 Loop, 2 copy, 3 copy, 4 EndLoop."""
    return made(corpus, lambda f, x, n, go: loop(f, x, n, go)[0])


@pytest.fixture
def chosen(corpus):
    """0 If, 1 copy, 2 Else, 3 copy, 4 EndIf."""

    def build(f, x, n, go):
        y = f.tensor(DType.Int8, 12)
        first = border(f, RegionFn.If, [go], [y])
        copy(f, x, y, backwards=True)
        other = border(f, RegionFn.Else, [], [y], first)
        copy(f, x, y)
        border(f, RegionFn.EndIf, [], [y], other)
        return y

    return made(corpus, build)


def run(model, n, go):
    feed = {"x0": X, "x1": np.array([n], np.int32), "x2": np.array([go], np.uint8)}
    return Session(write(model)).run_raw(feed)["y0"]


def test_loops_and_branches_run(looped, chosen):
    for n in (-1, 0, 1, 4, 7, 9):
        want = X[::-1] if (n % 2 == 1 and n > 0 and n < 9) or n == 9 else X  # at most 7
        np.testing.assert_array_equal(run(looped, n, 1), want)
        np.testing.assert_array_equal(run(looped, n, 0), X)
    np.testing.assert_array_equal(run(chosen, 0, 1), X[::-1])
    np.testing.assert_array_equal(run(chosen, 0, 0), X)


def test_a_strict_loop_stops_the_run_where_it_wants_more(looped):
    strict = [
        replace(op, params=op.params | {"strict": 1}) if op.kind == OpKind.Region else op
        for op in looped.ops
    ]
    assert run(replace(looped, ops=strict), 7, 1) is not None
    with pytest.raises(UserError, match="out of range"):
        run(replace(looped, ops=strict), 8, 1)


@pytest.mark.parametrize("name", ["length", "back", "fn", "most", "strict"])
@pytest.mark.parametrize("value", [0, 1, 2, 3, 4, 5, 1 << 31, (1 << 32) - 1])
def test_borders_that_do_not_fit_are_refused(looped, chosen, name, value):
    for model in (looped, chosen):
        for i, op in enumerate(model.ops):
            if op.kind != OpKind.Region or op.params[name] == value:
                continue
            if name in ("fn", "strict") and value > 0xFFFF:
                continue
            known = with_op(model, i, params=op.params | {name: value})
            unused = {
                "length": op.params["fn"] in (RegionFn.EndIf, RegionFn.EndLoop),
                "back": op.params["fn"] in (RegionFn.If, RegionFn.Loop),
                "most": op.params["fn"] < RegionFn.Loop or 0 < value < 1 << 31,
                "strict": value < 2, "fn": False,
            }  # fmt: skip
            assert opened(known)[0] == unused[name], (i, name, value)


def test_borders_without_their_others_are_refused(looped, chosen):
    for model in (looped, chosen):
        for i, op in enumerate(model.ops):
            if op.kind == OpKind.Region:
                assert not opened(replace(model, ops=model.ops[:i] + model.ops[i + 1 :]))[0]
                assert not opened(replace(model, ops=[*model.ops, op]))[0]


def test_regions_of_one_another_are_refused(corpus):
    """A loop that ends in a branch that began in it."""

    def build(f, x, n, go):
        y, done = f.tensor(DType.Int8, 12), f.tensor(DType.Int32, 1)
        copy(f, x, y)
        begun = border(f, RegionFn.Loop, [n, ABSENT], [done], most=2)
        first = border(f, RegionFn.If, [go], [y])
        border(f, RegionFn.EndLoop, [n, ABSENT], [done], begun, most=2)
        other = border(f, RegionFn.Else, [], [y], first)
        border(f, RegionFn.EndIf, [], [y], other)
        return y

    assert not opened(made(corpus, build))[0]


def test_five_regions_in_one_another_are_refused(corpus):
    for depth in (4, 5):

        def build(f, x, n, go, depth=depth):
            y = f.tensor(DType.Int8, 12)
            copy(f, x, y)
            begun = []
            for _ in range(depth):
                done = f.tensor(DType.Int32, 1)
                at = border(f, RegionFn.Loop, [n, ABSENT, y], [done], most=2)
                begun.append((at, done))
            for at, done in reversed(begun):
                border(f, RegionFn.EndLoop, [n, ABSENT, y], [done], at, most=2)
            return y

        assert opened(made(corpus, build))[0] == (depth == 4)


def test_what_a_branch_gives_is_written_in_both(chosen):
    x, y = chosen.inputs[0].tensor, chosen.outputs[0].tensor
    other = [*chosen.tensors, replace(chosen.tensors[y], offset=chosen.memory.arena_bytes)]
    memory = replace(chosen.memory, arena_bytes=chosen.memory.arena_bytes + 16)
    for i in (1, 3):  # one of them writes elsewhere
        model = with_op(chosen, i, outputs=(len(other) - 1,))
        assert not opened(replace(model, tensors=other, memory=memory))[0]
    # What only one branch has written is not read behind them.
    model = with_op(chosen, 1, outputs=(len(other) - 1,))
    read = replace(model.ops[1], inputs=(x,), outputs=(y,))
    ops = [*model.ops[:2], read, *model.ops[2:], replace(read, inputs=(len(other) - 1,))]
    ops[0] = replace(ops[0], params=ops[0].params | {"length": 3})
    ops[3] = replace(ops[3], params=ops[3].params | {"back": 3})
    good = [*ops[:6], replace(read, inputs=(x,))]
    assert opened(replace(model, ops=good, tensors=other, memory=memory))[0]
    assert not opened(replace(model, ops=ops, tensors=other, memory=memory))[0]


def test_what_a_loop_reads_of_before_it_stays(looped):
    """The body reads x, which it or a border overwrites: not at the first step alone."""
    x, done = looped.inputs[0].tensor, looped.ops[1].outputs[0]
    model = with_op(looped, 2, inputs=(x,))
    assert opened(model)[0]
    assert not opened(with_op(model, 3, outputs=(x,), inputs=(looped.ops[2].outputs[0],)))[0]
    # What it carries and has not written again is not there at the next step.
    held = looped.ops[0].outputs[0]
    assert opened(with_op(looped, 3, outputs=(held,)))[0]
    free = [replace(op, inputs=op.inputs[:2]) if op.kind == OpKind.Region else op
            for op in looped.ops]  # fmt: skip
    assert not opened(replace(looped, ops=free))[0]
    # Nobody but the borders writes how many steps were done.
    at = replace(looped.tensors[looped.ops[2].outputs[0]], offset=looped.tensors[done].offset)
    memory = replace(looped.memory, arena_bytes=looped.memory.arena_bytes + 16)
    tensors = [*looped.tensors, at]
    model = with_op(looped, 2, outputs=(len(looped.tensors),))
    model = with_op(model, 3, inputs=(len(looped.tensors),))
    assert not opened(replace(model, tensors=tensors, memory=memory))[0]
