"""The sizes of a session's dimensions that vary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...runtime_c._ffi import ffi, lib
from ..errors import UserError
from .model import Model, aligned, words


class Binding:
    """A session's copy of its model at the present sizes; at first the largest."""

    def __init__(self, model: Model) -> None:
        self.described = self._model = model
        self._memory = aligned(model.bind_bytes)
        self._now = tuple(s.highest for s in model.symbols)

    @property
    def sizes(self) -> dict[str, int]:
        return {s.name: n for s, n in zip(self._model.symbols, self._now, strict=True)}

    def bind(self, session: Any, sizes: Sequence[int] | Mapping[str, int]) -> bool:
        """Whether the sizes are others than before. Raises UserError."""
        wanted = self._in_order(sizes)
        if wanted == self._now:
            return False
        for symbol, n in zip(self._model.symbols, wanted, strict=True):
            if n not in symbol.sizes:
                raise UserError(
                    f"{self._model.source}: {symbol.name} is {n}; the file takes {symbol}"
                )
        memory = ffi.cast("void *", self._memory.ctypes.data)
        numbers = ffi.new("uint32_t[]", wanted)
        status = lib.ek_session_bind(
            session, self._model.handle, numbers, memory, self._memory.nbytes
        )
        bound = status == lib.EK_OK
        self._now = wanted if bound else tuple(s.highest for s in self._model.symbols)
        self.described = self._model.at(ffi.cast("ek_model *", memory)) if bound else self._model
        if not bound:
            at = ", ".join(
                f"{s.name}={n}" for s, n in zip(self._model.symbols, wanted, strict=True)
            )
            op = int(ffi.cast("ek_model *", memory).failed_op)
            blamed = f" (operator {op})" if op < self._model.handle.op_count else ""
            raise UserError(f"{self._model.source}: at {at}: {words(status)}{blamed}")
        return True

    def _in_order(self, sizes: Sequence[int] | Mapping[str, int]) -> tuple[int, ...]:
        names = [s.name for s in self._model.symbols]
        if isinstance(sizes, Mapping):
            for name in sizes:
                if name not in names:
                    raise UserError(
                        f"{self._model.source}: no variable dimension '{name}'; available: "
                        f"{', '.join(names)}"
                    )
            known = self.sizes | dict(sizes)
            return tuple(int(known[name]) for name in names)
        if len(sizes) != len(names):
            raise UserError(f"{self._model.source}: give a size for each of {', '.join(names)}")
        return tuple(int(n) for n in sizes)

    def sizes_of(self, feed: Any) -> dict[str, int]:
        """The sizes that the shapes of a feed say. Raises UserError where two inputs say two."""
        inputs = self._model.inputs
        arrays = feed if isinstance(feed, Mapping) else {io.name: feed for io in inputs[:1]}
        found: dict[str, int] = {}
        said: dict[str, str] = {}
        for i, axis, symbol in self._model.varying_axes:
            io = inputs[i]
            if io.name not in arrays:
                continue
            shape = np.shape(arrays[io.name])
            at = axis + len(shape) - len(io.shape)
            if abs(len(shape) - len(io.shape)) > 1 or at < 0:
                continue
            name, n = self._model.symbols[symbol].name, int(shape[at])
            if found.setdefault(name, n) != n:
                raise UserError(
                    f"input '{io.name}': {name} is {n}, and {found[name]} in input '{said[name]}'"
                )
            said.setdefault(name, io.name)
        return found
