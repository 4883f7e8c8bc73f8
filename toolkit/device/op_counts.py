"""Instructions of files on a target, of which operators alike are counted once."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from math import prod
from typing import NamedTuple

from ...targets import Target
from ..errors import UserError
from ..format.model import ABSENT, EdgeModel
from ..format.reader import read
from ..format.schema import DType, OpKind
from ..ir import Shape
from .bench import random_inputs
from .build import prepare
from .emulate import Device

MOST_COUNTED = 12
"""Files that are run for `total`: one takes seconds."""

SHAPING = ("geometry.", "codec.id", "rows", "k", "n", "batch", "steps", "hidden", "fn", "cell")
"""Parameters, or how they begin, that say how much an operator has to do."""


class Key(NamedTuple):
    """What operators have in common that take the same number of instructions, about."""

    kind: OpKind
    elements: int  # of the largest tensor
    tensors: tuple[tuple[DType, Shape], ...]
    shaping: tuple[tuple[str, int | float], ...]


class OpCounts:
    """What one inference takes on `target`: the sum of its operators, as they took in files that
    its emulator ran. Raises UserError for a target without an emulator."""

    def __init__(self, target: Target) -> None:
        if not target.emulator:
            raise UserError(
                f"{target.name} is the host and has no emulator to count instructions on; "
                "`edgekit targets` lists targets with one"
            )
        self.target = target
        self._known: dict[Key, int] = {}
        self._files: dict[bytes, tuple[int, list[int]]] = {}
        self._beside = 0

    def total(self, data: bytes) -> int:
        """Of a generic file. Files are run while they have operators that none before had, up to
        MOST_COUNTED; behind that, new operators take what the costliest of like size did."""
        if sha256(data).digest() in self._files:
            return self.count(data)[0]
        keys = list(_keys(read(prepare(data, self.target))))
        if len(self._files) < MOST_COUNTED and not self._known.keys() >= set(keys):
            return self.count(data)[0]
        return self._beside + sum(
            self._known[k] if k in self._known else self._like(k) for k in keys
        )

    def count(self, data: bytes) -> tuple[int, list[int]]:
        """Of a generic file, run once: in all, and by operator."""
        digest = sha256(data).digest()
        if digest in self._files:
            return self._files[digest]
        with Device(data, self.target) as device:
            keys = list(_keys(device.model))
            ran = device.run([random_inputs(device.model)], count=True)
        assert ran.instructions is not None and ran.op_instructions is not None
        self._known |= dict(zip(keys, ran.op_instructions, strict=True))
        self._beside = ran.instructions - sum(ran.op_instructions)
        return self._files.setdefault(digest, (ran.instructions, ran.op_instructions))

    def _like(self, key: Key) -> int:
        """Of the costliest operator of this kind and size, whatever its types; else by elements."""
        known = self._known.items()
        alike = [n for k, n in known if (k.kind, k.elements) == (key.kind, key.elements)]
        if alike:
            return max(alike)
        rates = [n / k.elements for k, n in known if k.kind == key.kind]
        rates = rates or [n / k.elements for k, n in known]
        return int(max(rates, default=0.0) * key.elements)


def _keys(model: EdgeModel) -> Iterator[Key]:
    for op in model.ops:
        at = [i for i in (*op.inputs, *op.outputs) if i != ABSENT]
        tensors = tuple((model.tensors[i].dtype, model.tensors[i].shape) for i in at)
        elements = max((prod(shape) for _, shape in tensors), default=1)
        shaping = tuple((k, v) for k, v in sorted(op.params.items()) if k.startswith(SHAPING))
        yield Key(op.kind, max(elements, 1), tensors, shaping)
