"""Files of the corpus with their tables in the fewest bits."""

from dataclasses import replace

import numpy as np

from edgekit.toolkit.format.schema import DType
from edgekit.toolkit.format.structs import NO_BLOB
from edgekit.toolkit.format.tables import WIDE, Table, table_of

ZEROS = {DType.Int8: 16, DType.Int16: 8}
"""Lowest bits of a multiplier that are 0 in these files."""


def coarse(model):
    """The model with multipliers of 15 bits, as the arithmetic has them, its tables wide; None
    of one without tables."""
    blob, ops = bytearray(model.blob), []
    for op in model.ops:
        if op.params.get("requant.table", NO_BLOB) == NO_BLOB or model.element(op) not in ZEROS:
            continue
        element, at = model.element(op), op.params["requant.table"]
        zeros, t = ZEROS[element], table_of(op.kind, element, op.params, model.blob)
        m, shift = t.multiplier >> zeros << zeros, t.shift
        if element is DType.Int8:
            once = (shift < 0) & (shift >= -12)
            m, shift = m >> np.where(once, -shift, 0), np.where(once, 0, shift)
        wide = Table(t.bias, m, shift).wide().tobytes()
        blob[at : at + len(wide)] = wide
        ops.append(op)
    return replace(model, blob=bytes(blob)) if ops else None


def tightened(model):
    """A model of `coarse` with tight tables, at odd places, the last one at the end."""
    blob, ops = bytearray(model.blob), []
    for op in model.ops:
        element = model.element(op)
        if op.params.get("requant.table", NO_BLOB) != NO_BLOB and element in ZEROS:
            bits, fields = table_of(op.kind, element, op.params, model.blob).tight(element)
            blob += bytes(1 - len(blob) % 2)
            fields["requant.table"] = len(blob)
            blob += bits.tobytes()
            op = replace(op, params={**op.params, **WIDE, **fields})
        ops.append(op)
    return replace(model, ops=ops, blob=bytes(blob))
