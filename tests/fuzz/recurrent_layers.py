"""Recurrent layers of the corpus."""

import numpy as np
from weighted_layers import coded

from edgekit.toolkit.format.model import ABSENT
from edgekit.toolkit.format.schema import DType, RecurrentCell, RecurrentFlag
from edgekit.toolkit.format.structs import float_bits


def limited(table, qmin, qmax):
    """The fields of the struct Requant."""
    return {"requant.table": table, "requant.qmin": qmin, "requant.qmax": qmax}


def recurrent(f, form):
    """Every cell, with and without lengths and states to start with, in both directions."""
    dtype, steps, batch, hidden = form.element, 3, 2, 5
    wide = dtype is DType.Int16
    gates = {RecurrentCell.Rnn: 1, RecurrentCell.Gru: 3, RecurrentCell.Lstm: 4}
    numbers = [2**20, -(2**21), 22, 2**22, 37, 2**19, 38, 2**22, 22, 2**22 + 5, 23]
    numbers += [2**22, 22, 2**22 + 3, 22, 2**23 - 1, 23]
    curve = np.rint(32767 * np.tanh(np.linspace(-4, 4, 513))).astype(np.int16)
    words = [np.array(numbers, np.int32).view(np.int16), curve, -curve, curve]
    ratios = np.array([2**22, 37, 2**22 + 1, 36, 2**23 - 1, 38], np.int32)
    words += [np.zeros(1, np.int16), ratios.view(np.int16), 1000 * np.arange(-8, 7, dtype=np.int16)]
    tables = f.constant(np.concatenate(words)) if wide else 0
    for cell, flags in (
        (RecurrentCell.Rnn, 0),
        (RecurrentCell.Gru, RecurrentFlag.Reverse),
        (RecurrentCell.Gru, RecurrentFlag.ResetAfter),
        (RecurrentCell.Lstm, RecurrentFlag.Coupled),
        (RecurrentCell.Lstm, RecurrentFlag.Reverse * wide + RecurrentFlag.Peepholes),
    ):
        rows, lstm = gates[cell] * hidden, cell == RecurrentCell.Lstm
        p = {"steps": steps, "batch": batch, "hidden": hidden, "cell": cell, "flags": flags}
        if wide:
            p |= {"table": tables, "gives": 7 if lstm else 3}
            p |= limited(f.requant16(rows), -32767, 32767)
            if form.codec:
                p |= coded(f, form, (rows, hidden), 4 * (cell == RecurrentCell.Gru))
            else:
                p["weights"] = f.weights(rows, hidden)
        else:
            p |= {"table": f.floats(7 + 3 * hidden), "gives": 31 if lstm else 19}
            p |= {"weights": f.floats(rows, hidden), "functions": 0x020100}
            p |= limited(f.floats(rows), float_bits(-1e30), float_bits(1e30))
        state, whole = (batch, hidden), (steps, batch, hidden)
        given = [f.input(dtype, steps, batch, rows), ABSENT, ABSENT, ABSENT]
        if flags:
            given[1], given[2] = f.input(DType.Int32, batch), f.input(dtype, *state)
            given[3] = f.input(dtype, *state) if lstm else ABSENT
        more = [state, state] if lstm else [state]
        if not wide:
            more += [whole] * lstm + [(steps, batch, rows)]
        f.output(f.op(form, given, dtype, *whole, more=more, **p))
