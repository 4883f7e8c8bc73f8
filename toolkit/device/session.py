"""A session whose runs happen on an emulated device: all samples at once, answers one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ...targets import Target
from ..ir import Array
from ..runtime import IoInfo, Session
from .emulate import Device
from .opencl import OpenClSession


class EmulatedSession:
    """Answers of `target` to `samples`, in their order; each call of `run` gives the next.

    Inputs are quantized and outputs dequantized as by a Session of this machine. Raises UserError
    for a missing toolchain or emulator.
    """

    def __init__(
        self,
        source: str | Path,
        target: Target,
        samples: Iterable[Mapping[str, Array]],
        cpu: str | None = None,
    ) -> None:
        self._host = Session(source)
        raw = [self._host.to_raw(sample) for sample in samples]
        with Device(self._host.model.data.tobytes(), target, cpu) as device:
            answers = device.run(raw).outputs
            self.kernels = f"{target.name} on {device.cpu or target.machine or target.emulator}"
        self._answers: Iterator[list[Array]] = iter(answers)

    @property
    def outputs(self) -> tuple[IoInfo, ...]:
        return self._host.outputs

    def run(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        """Outputs of the next sample, which `feed` must be, by ONNX name."""
        return self._host.from_raw(next(self._answers))


def session_on(
    source: str | Path,
    target: Target,
    samples: Iterable[Mapping[str, Array]],
    cpu: str | None = None,
) -> EmulatedSession | OpenClSession:
    """What answers to `samples` on a target: an OpenCL device (`cpu` names it), or an emulator."""
    if target.accelerator:
        return OpenClSession(source, cpu)
    return EmulatedSession(source, target, samples, cpu)
