"""The desk's end of link.h: samples run on a board, every operator compared with this machine."""

from __future__ import annotations

import struct
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import numpy as np

from .... import targets
from ...errors import UserError
from ...files import read_edge
from ...format.describe import op_type
from ...format.model import EdgeModel
from ...format.reader import read
from ...format.strip import strip
from ...ir import Array
from ...retarget import retarget
from ...runtime import MAX_MEMORY, IoInfo, Session
from ...runtime.model import words
from ..self_test import exact_operators
from . import frames
from .streams import Stream, serial_port

PREFIX = "serial:"
"""Of a target that is a board."""

_FIRST_WAIT, _LONGEST_WAIT = 0.25, 4.0
_PATIENCE = 30.0
"""Seconds that a request is repeated for."""


@dataclass(frozen=True)
class Greeting:
    """What the board says of itself."""

    protocol: int
    runtime: int
    model_bytes: int
    model_crc: int
    ops: int
    inputs: int
    outputs: int
    counts_cycles: int


class Board:
    """Requests to the board on `stream`, repeated until they are answered. A context manager.

    Raises UserError for a board that is silent for `patience` seconds, or refuses.
    """

    def __init__(self, stream: Stream, name: str, patience: float = _PATIENCE) -> None:
        self.name, self._stream, self._patience = name, stream, patience
        self._seq = int(time.monotonic_ns() >> 10) & 0xFF
        self._kept = b""
        self.repeats = 0
        self.greeting = self._greet()

    def __enter__(self) -> Board:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stream.close()

    def _greet(self) -> Greeting:
        self._stream.write(b"\0\0")  # ends what another desk may have begun
        found = struct.unpack("<8I", self.ask(frames.HELLO))
        if found[0] != frames.VERSION:
            raise UserError(
                f"{self.name}: the board uses version {found[0]} of the protocol, this edgekit "
                f"{frames.VERSION}; rebuild the firmware"
            )
        return Greeting(*found)

    def ask(self, command: int, data: bytes = b"") -> bytes:
        """The data of the answer to a request."""
        self._seq = (self._seq + 1) & 0xFF
        frame = frames.request(self._seq, command, data)
        end, wait = time.monotonic() + self._patience, _FIRST_WAIT
        while time.monotonic() < end:
            self._stream.write(frame)
            found = self._answer(command, min(time.monotonic() + wait, end))
            if found is not None:
                status, content = found
                if status:
                    raise UserError(f"{self.name}: the board refuses: {words(status)}")
                return content
            self.repeats += 1
            wait = min(2 * wait, _LONGEST_WAIT)
        raise UserError(
            f"{self.name}: no answer in {self._patience:.0f} s; does the firmware call "
            "ek_link_poll, and is the baud rate right (serial:PATH@BAUD)?"
        )

    def _answer(self, command: int, until: float) -> tuple[int, bytes] | None:
        while (left := until - time.monotonic()) > 0:
            *whole, self._kept = (self._kept + self._stream.read(left)).split(b"\0")
            for frame in whole:
                found = frames.answer(frame, self._seq, command)
                if found is not None:
                    return found
        return None

    def write_input(self, index: int, data: bytes) -> None:
        most = frames.PAYLOAD - 8
        for at in range(0, len(data), most):
            self.ask(frames.WRITE, struct.pack("<II", index, at) + data[at : at + most])

    def step(self) -> tuple[int, int]:
        """Run one operator; how many lie from the next one to the end, and the cycles it took."""
        left, cycles = struct.unpack("<II", self.ask(frames.STEP, struct.pack("<I", 1)))
        return left, cycles

    def crc(self, op: int, index: int, count: int) -> tuple[int, int]:
        """The bytes of an operator's output just made, and the CRC-32 of the first `count`."""
        found = struct.unpack("<II", self.ask(frames.CRC, struct.pack("<4I", op, index, 0, count)))
        return found[0], found[1]

    def read_output(self, op: int, index: int, at: int, count: int) -> bytes:
        """Part of an operator's output just made, or of one of the session if `op` is OUTPUT."""
        most, found = frames.PAYLOAD - 1, b""
        while len(found) < count:
            n = min(most, count - len(found))
            found += self.ask(frames.READ, struct.pack("<4I", op, index, at + len(found), n))
        return found


def held_by(greeting: Greeting, data: bytes, source: str) -> str:
    """The kernels that the board's model is packed for, "generic" if it is not, where it is the
    file `data`. Raises UserError for another model."""
    known = {targets.load(name).plan for name in targets.names()} - {""}
    packed = [("generic", data)]
    model = read(data, source)
    for plan in sorted(known) if model.target == packed[0][0] else ():
        packed.append((plan, b""))
    for plan, made in packed:
        file = strip(made or retarget(data, model, plan))
        if (len(file), zlib.crc32(file)) == (greeting.model_bytes, greeting.model_crc):
            return plan
    raise UserError(
        f"{source}: the board has another model ({greeting.model_bytes:,} bytes, {greeting.ops} "
        "operators); flash this one, or pass the file that was flashed"
    )


class BoardSession:
    """Answers of a board: as EmulatedSession, sample by sample. Raises UserError at the first
    operator whose bytes are not those of this machine, and names it and the element.

    Operators with float results are not compared: targets may round them otherwise.
    """

    def __init__(
        self,
        source: str | Path,
        board: Board,
        max_memory: int | None = MAX_MEMORY,
        sequence: int | None = None,
    ) -> None:
        data = read_edge(source)
        self._host = Session(source, max_memory=max_memory, numbers=True)
        self._board, self._sequence, self._ran = board, sequence, 0
        self._model: EdgeModel = read(data, str(source))
        self._exact = exact_operators(self._model)
        self.kernels = f"{board.name} ({held_by(board.greeting, data, str(source))})"
        self.cycles = [0] * len(self._model.ops)
        board.ask(frames.RESET)

    @property
    def outputs(self) -> tuple[IoInfo, ...]:
        return self._host.outputs

    @property
    def samples(self) -> int:
        """How many have run."""
        return self._ran

    def run(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        """Outputs by ONNX name, which the board made."""
        return self._host.from_raw(self.run_raw(self._host.to_raw(feed)))

    def run_raw(self, inputs: Sequence[Array]) -> list[Array]:
        """The same of arrays as the runtime holds them."""
        if self._sequence is not None and self._ran and self._ran % self._sequence == 0:
            self._host.reset()
            self._board.ask(frames.RESET)
        self._ran += 1
        expected: dict[int, bytes] = {}
        outputs = self._host.run_raw_layers(
            inputs, lambda i, _, x: expected.update({i: x.tobytes()})
        )
        for i, array in enumerate(inputs):
            self._board.write_input(i, array.tobytes())
        op, count = 0, len(self.cycles)
        while op < count:
            left, cycles = self._board.step()
            self.cycles[op] += cycles
            right = expected.get(op) if self._exact[op] else None
            if right is not None and self._board.crc(op, 0, len(right))[1] != zlib.crc32(right):
                raise UserError(self._finding(op, right))
            op = count - left
        return [self._output(i, array) for i, array in enumerate(outputs)]

    def _output(self, index: int, like: Array) -> Array:
        data = self._board.read_output(frames.OUTPUT, index, 0, like.nbytes)
        return np.frombuffer(data, like.dtype).reshape(like.shape)

    def _finding(self, op: int, right: bytes) -> str:
        """The first wrong element, found by halves."""
        good, bad = 0, len(right)  # so many bytes are right; so many are not
        while bad - good > 1:
            middle = (good + bad) // 2
            if self._board.crc(op, 0, middle)[1] == zlib.crc32(right[:middle]):
                good = middle
            else:
                bad = middle
        out = self._host.op_outputs[op]
        size = out.dtype.itemsize
        element = good // size
        place = [int(i) for i in np.unravel_index(element, out.shape)]
        wrong = np.frombuffer(self._board.read_output(op, 0, element * size, size), out.dtype)[0]
        wanted = np.frombuffer(right, out.dtype)[element]
        record = self._model.ops[op]
        return (
            f"{self._board.name}: operator {op} ({op_type(self._model, record)} "
            f"'{self._model.op_names[op]}') is the first that differs on the board: element "
            f"{element} of its output, at {place} of {list(out.shape)}, is {wrong} instead of "
            f"{wanted} (sample {self._ran}). All operators before it match: check its kernel and "
            "its compiler flags"
        )


def open_board(target: str) -> Board:
    """The board of a target "serial:PATH[@BAUD]". Raises UserError."""
    return Board(serial_port(target.removeprefix(PREFIX)), target)
