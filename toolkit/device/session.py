"""A session whose runs happen on an emulated device: all samples at once, answers one by one."""

from __future__ import annotations

import hashlib
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from threading import Lock

from ...targets import Target
from ..errors import UserError
from ..files import read_edge
from ..format.model import EdgeModel
from ..format.reader import read
from ..ir import Array
from ..runtime import MAX_MEMORY, IoInfo, Session
from .backend import Answering, backend_of, settings_of
from .build import load_target
from .emulate import Device
from .link import PREFIX, BoardSession, open_board


class EmulatedSession:
    """Answers of `target` to `samples`, each of which `run` gives once, in any order.

    Threads may share it. State starts anew after `sequence` samples. Inputs are quantized and
    outputs dequantized as by a Session of this machine. Raises UserError for a missing toolchain or
    emulator.
    """

    def __init__(
        self,
        source: str | Path,
        target: Target,
        samples: Iterable[Mapping[str, Array]],
        cpu: str | None = None,
        max_memory: int | None = MAX_MEMORY,
        sequence: int | None = None,
    ) -> None:
        self._host = Session(source, max_memory=max_memory, numbers=True)
        self._lock = Lock()
        raw = [self._host.to_raw(sample) for sample in samples]
        with Device(self._host.model.data.tobytes(), target, cpu) as device:
            step = sequence or max(len(raw), 1)
            parts = [raw[i : i + step] for i in range(0, len(raw), step)]
            answers = [answer for part in parts for answer in device.run(part).outputs]
            self.kernels = f"{target.name} on {device.cpu or target.machine or target.emulator}"
        self._answers: defaultdict[bytes, deque[list[Array]]] = defaultdict(deque)
        for inputs, answer in zip(raw, answers, strict=True):
            self._answers[_key(inputs)].append(answer)

    @property
    def outputs(self) -> tuple[IoInfo, ...]:
        return self._host.outputs

    def run(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        """Outputs by ONNX name of a sample that the device has run. Raises UserError for others."""
        with self._lock:  # the host's session has the sizes of the sample
            try:
                answer = self._answers[_key(self._host.to_raw(feed))].popleft()
            except IndexError as why:
                raise UserError(f"{self.kernels} was not given this sample to run") from why
            return self._host.from_raw(answer)


def _key(inputs: Sequence[Array]) -> bytes:
    said = b"".join(bytes(repr(x.shape), "ascii") + x.tobytes() for x in inputs)
    return hashlib.sha256(said).digest()


def check_fixed(model: EdgeModel, source: str, runs: str) -> None:
    """Raises UserError for a model whose dimensions vary: of another, the target `runs` the
    largest size alone."""
    if model.symbols:
        known = ", ".join(map(str, model.symbols))
        raise UserError(
            f"{source}: dimensions of it vary ({known}), and {runs} models of one size; write the "
            "file with --dim or --shape of one size"
        )


def session_on(
    source: str | Path,
    target: str,
    samples: Iterable[Mapping[str, Array]],
    device: str | None = None,
    max_memory: int | None = MAX_MEMORY,
    settings: Mapping[str, str] | None = None,
    sequence: int | None = None,
) -> Answering:
    """What answers to `samples` on a target: a board on a serial port ("serial:PATH[@BAUD]"), an
    accelerator's `device`, or an emulator of which `device` is the CPU.

    `settings` are the target's own, `max_memory` is as for a Session; state starts anew after
    `sequence` samples. Raises UserError.
    """
    model = read(read_edge(source))
    if target.startswith(PREFIX):
        check_fixed(model, str(source), "a board's program runs")
        if device or settings:
            raise UserError(f"{target}: --cpu and --set do not apply to boards")
        return BoardSession(source, open_board(target), max_memory, sequence)
    found = load_target(target)
    chosen, backend = settings_of(found, settings), backend_of(found)
    if backend is not None:
        check_fixed(model, str(source), f"{found.name} runs")
        if model.memory.persistent_bytes:
            raise UserError(f"{found.name} does not support state; use a file without --state")
        return backend.session(source, device, chosen, max_memory)
    return EmulatedSession(source, found, samples, device, max_memory, sequence)
