"""What a file may not say of recurrent layers."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from edgekit.toolkit.errors import UserError
from edgekit.toolkit.format.model import ABSENT
from edgekit.toolkit.format.schema import RecurrentCell
from edgekit.toolkit.format.writer import write
from edgekit.toolkit.runtime import Model

RNN, GRU, RESET_AFTER, COUPLED, LSTM = range(5)


@pytest.fixture(params=["recurrent_s16", "recurrent_f32"])
def model(request, corpus):
    return corpus.one_operator(request.param)


def opens(model) -> bool:
    try:
        Model(write(model))
    except UserError:
        return False
    return True


def changed(model, i, **changes):
    ops = list(model.ops)
    ops[i] = replace(ops[i], **changes)
    return replace(model, ops=ops)


def with_params(model, i, **params):
    return changed(model, i, params={**model.ops[i].params, **params})


def test_every_cell_opens(model):
    assert opens(model)


@pytest.mark.parametrize("field", ["steps", "batch", "hidden"])
def test_sizes_are_those_of_the_tensors(model, field):
    for i in range(5):
        size = model.ops[i].params[field]
        for wrong in (0, size - 1, size + 1, 2**31, 2**32 - 1):
            assert not opens(with_params(model, i, **{field: wrong})), (i, wrong)


def test_cells_and_flags_are_known(model):
    assert not opens(with_params(model, RNN, cell=3))
    assert not opens(with_params(model, RNN, cell=RecurrentCell.Lstm))
    assert not opens(with_params(model, RNN, flags=16))


def test_outputs_are_those_that_are_given(model):
    for i in (RNN, LSTM):
        gives = model.ops[i].params["gives"]
        for wrong in (0, gives & ~1, gives | 32, gives | 128):
            assert not opens(with_params(model, i, gives=wrong)), (i, wrong)
        one = changed(with_params(model, i, gives=1), i, outputs=model.ops[i].outputs[:1])
        assert opens(replace(one, outputs=[]))
    # A cell state is LSTM's.
    assert not opens(with_params(model, RNN, gives=5))


def test_outputs_lie_apart(model):
    op = model.ops[LSTM]
    tensors = list(model.tensors)
    tensors[op.outputs[2]] = replace(tensors[op.outputs[2]], offset=tensors[op.outputs[1]].offset)
    assert not opens(replace(model, tensors=tensors))


def test_all_operands_have_a_place(model):
    for i in range(5):
        assert not opens(changed(model, i, inputs=model.ops[i].inputs[:3]))
        assert not opens(changed(model, i, inputs=(*model.ops[i].inputs, ABSENT)))
    assert not opens(changed(model, RNN, inputs=(ABSENT, *model.ops[RNN].inputs[1:])))


def test_operands_have_their_types(model):
    op = model.ops[LSTM]
    for i in range(4):
        for other in {op.inputs[0], op.inputs[1], op.inputs[2]} - {op.inputs[i]}:
            if {i, op.inputs.index(other)} == {2, 3}:
                continue  # both are states
            inputs = [other if j == i else v for j, v in enumerate(op.inputs)]
            assert not opens(changed(model, LSTM, inputs=tuple(inputs))), (i, other)
    gru = model.ops[GRU]
    assert not opens(changed(model, GRU, inputs=(*gru.inputs[:3], gru.inputs[2])))


def test_constants_are_in_the_blob(model):
    end = len(model.blob)
    for i in range(5):
        for field in ("weights", "table", "requant.table"):
            for wrong in (end - 8 - end % 4, end, 2**32 - 4):
                assert not opens(with_params(model, i, **{field: wrong})), (i, field)


def test_floats_have_the_known_functions(corpus):
    floats = corpus.one_operator("recurrent_f32")
    assert not opens(with_params(floats, LSTM, functions=0x02010B))
    assert not opens(with_params(floats, LSTM, functions=0x0B0100))


NUMBERS = {
    "gate": (0, [(0, True), (2**23 - 2**21, True), (2**23 - 2**21 + 1, False), (-(2**31), False)]),
    "gate shift": (2, [(1, True), (0, False), (40, True), (41, False), (-1, False)]),
    "hidden": (3, [(2**22, True), (2**22 - 1, False), (2**23, False)]),
    "hidden shift": (4, [(1, True), (0, False), (62, True), (63, False)]),
    "cell": (5, [(0, True), (2**23, True), (2**23 + 1, False), (-1, False), (-(2**31), False)]),
    "cell shift": (6, [(15, True), (14, False), (38, True), (39, False), (-1, False)]),
    "start": (7, [(2**22, True), (2**22 - 1, False), (2**23, False), (0, False)]),
    "start shift": (8, [(1, True), (0, False), (62, True), (63, False)]),
    "start cell": (9, [(2**22, True), (2**22 - 1, False), (2**23, False), (0, False)]),
    "output": (11, [(2**22, True), (2**22 - 1, False), (2**23, False), (0, False)]),
    "last output shift": (16, [(1, True), (0, False), (62, True), (63, False)]),
    "peephole": (787, [(2**22, True), (2**22 - 1, False), (2**23, False), (0, False)]),
    "last peephole shift": (792, [(1, True), (0, False), (62, True), (63, False)]),
    "start cell shift": (10, [(1, True), (0, False), (62, True), (63, False)]),
}


@pytest.mark.parametrize("what", NUMBERS)
def test_numbers_are_in_their_ranges(corpus, what):
    model = corpus.one_operator("recurrent_s16")
    at, values = NUMBERS[what]
    for value, good in values:
        blob = bytearray(model.blob)
        struct.pack_into("<i", blob, model.ops[LSTM].params["table"] + 4 * at, value)
        assert opens(replace(model, blob=bytes(blob))) == good, value
