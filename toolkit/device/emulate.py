"""Run a model on a target's emulator: real code of the device, exact counts of instructions."""

from __future__ import annotations

import re
import struct
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType

import numpy as np

from ... import runtime_c, targets
from ...targets import Target
from ..errors import UserError
from ..format.at_sizes import at_sizes, sizes_of
from ..format.model import NUMPY_OF, EdgeModel
from ..format.reader import read
from ..format.schema import OpKind
from ..format.strip import stripped
from ..format.writer import write
from ..ir import Array
from ..runtime import Model
from .build import Archive, compile_runtime, prepare
from .process import ProgramFailedError, generator, require, run
from .project import write_linker_script, write_model_source
from .templates import render

RUNNER = targets.FOLDER / "runner"
COUNTER = targets.FOLDER / "emulation" / "count.c"
_WEIGHTS, _RESERVE = 5, 64 << 20
"""Session bytes beside the arena where kernels pack weights: so many times the file's size, of
which two nibbles become four bytes, unpacked and packed; and this much for layers of few channels,
which are packed as if they had many. What is not needed is never touched."""


_SAMPLES, _ANSWERS, _COUNTER, _COUNTS = "in.bin", "out.bin", "count.so", "counts.txt"


@dataclass(frozen=True)
class Emulation:
    """What the device answered. `instructions` are of one inference, in all and by operator; None
    where they were not counted. `stack_bytes` is 0 where it is not measured."""

    outputs: list[list[Array]]
    instructions: int | None
    op_instructions: list[int] | None
    session_bytes: int
    stack_bytes: int


class Device:
    """A program for a target with one model in it, ready to run. A context manager.

    `data` is the file, generic or for this target; it is packed for the target's kernels.

    `cpu` is the emulator's -cpu, for targets that choose kernels at run time; `kernels` a table.
    Raises UserError for a missing toolchain or emulator.
    """

    def __init__(
        self, data: bytes, target: Target, cpu: str | None = None, kernels: str = ""
    ) -> None:
        _check_choice(target, cpu, kernels)
        data = prepare(data, target)
        self.target, self.model = target, read(data)
        data = write(stripped(self.model))
        self.model_bytes, self._bind_bytes = len(data), Model(data).bind_bytes
        self.cpu = cpu or (target.cpus[-1] if target.cpus else None)
        self._emulator = require(
            target.emulator, target.emulator_package, f"running for {target.name}"
        )
        self._temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self._temporary.name)
        try:
            self.archive: Archive = compile_runtime(target, self.model)
            self._kernels = kernels
            self._program = self._link(data, kernels)
        except BaseException:
            self._temporary.cleanup()
            raise

    def __enter__(self) -> Device:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._temporary.cleanup()

    def run(self, samples: Sequence[Sequence[Array]], count: bool = False) -> Emulation:
        """Run samples, each all inputs as the device holds them, and bring the outputs back. Where
        dimensions vary, the shapes of inputs are their sizes."""
        sizes = [sizes_of(self.model, sample) for sample in samples]
        self._write_samples(samples, sizes)
        try:
            run(self._command(count), f"emulating {self.target.name}", cwd=self.folder)
        except ProgramFailedError as why:
            if "unable to find CPU model" in why.printed:
                known = ", ".join(f"'{c}'" for c in self.target.cpus)
                raise UserError(
                    f"{self.target.emulator} has no -cpu '{self.cpu}'; tried are {known}"
                ) from why
            if why.printed.startswith("kernels:"):
                raise UserError(
                    f"-cpu {self.cpu} cannot execute the kernels '{self._kernels}'"
                ) from why
            raise
        data = (self.folder / _ANSWERS).read_bytes()
        outputs, at = [], 0
        for n in sizes:
            sample, at = _parse(at_sizes(self.model, n), data, at)
            outputs.append(sample)
        session_bytes, stack = struct.unpack_from("<II", data, at)
        total: int | None = None
        by_op: list[int] | None = None
        if count:
            total, by_op = _counts((self.folder / _COUNTS).read_text(), self.model)
        return Emulation(outputs, total, by_op, session_bytes, stack)

    def _write_samples(
        self, samples: Sequence[Sequence[Array]], sizes: Sequence[Sequence[int]]
    ) -> None:
        parts = []
        for sample, n in zip(samples, sizes, strict=True):
            parts += [np.array(n, "<u4"), *sample]
        content = b"".join(np.ascontiguousarray(a).tobytes() for a in parts)
        (self.folder / _SAMPLES).write_bytes(content)

    def _link(self, data: bytes, kernels: str) -> Path:
        folder, target = self.folder, self.target
        render("runner/model.h", folder)
        write_model_source(folder, data)
        memory = self.model.memory
        reserve = 0 if target.bare_metal else len(data) * _WEIGHTS + _RESERVE
        session = memory.arena_bytes + memory.persistent_bytes + reserve
        render(
            "runner/memory.c",
            folder,
            session_bytes=session,
            bind_bytes=self._bind_bytes,
            kernels=kernels,
        )
        sources = [folder / "model.c", folder / "memory.c", RUNNER / "runner.c"]
        if target.world:
            sources += [target.folder / source for source in target.world]
        else:
            start = target.folder / "start.c"
            sources.append(start if target.bare_metal else RUNNER / "io_linux.c")
        script = [write_linker_script(folder, target)] if target.bare_metal else []
        render(
            "runner/CMakeLists.txt",
            folder,
            sources=sources,
            includes=[folder, RUNNER, runtime_c.SOURCE / "include"],
            options=[f"-T{path}" for path in script],
            library=self.archive.library,
            libm=not target.world,
            binds=bool(self._bind_bytes),
        )
        cmake = require("cmake", "cmake", f"building for {target.name}")
        toolchain = target.folder / "toolchain.cmake"
        run(
            [
                cmake,
                "-S",
                folder,
                "-B",
                folder / "run",
                *generator(known=True),
                "-DCMAKE_BUILD_TYPE=MinSizeRel",
                f"-DCMAKE_TOOLCHAIN_FILE={toolchain}",
                f"-DEDGEKIT_TARGET={target.name}",
            ],
            "configuring the program",
        )
        try:
            run([cmake, "--build", folder / "run"], "linking the program")
        except ProgramFailedError as why:
            over = re.search(r"region `(\w+)' overflowed by (\d+) bytes", why.printed)
            if over is None:
                raise
            region = {"CODE": "flash", "RAM": "RAM"}[over[1]]
            raise UserError(
                f"the emulated board for {target.name} ({target.machine}) has {int(over[2]):,} "
                f"bytes of {region} too little for this model"
            ) from why
        return folder / "run" / "run"

    def _command(self, count: bool) -> list[str | Path]:
        """Started in `folder`: emulators and plugins cut long names at spaces and commas."""
        plugin: list[str | Path] = []
        if count:
            (self.folder / _COUNTER).write_bytes(_counter())
            plugin = ["-plugin", f"./{_COUNTER},out={_COUNTS}"]
        if self.target.bare_metal:
            arguments = f"arg=run,arg={_SAMPLES},arg={_ANSWERS}"
            return [
                self._emulator,
                "-M",
                self.target.machine,
                *self.target.emulator_arguments,
                *("-display", "none", "-monitor", "none", "-serial", "none"),
                "-semihosting-config",
                f"enable=on,target=native,{arguments}",
                *plugin,
                "-kernel",
                self._program,
            ]
        cpu = ["-cpu", self.cpu] if self.cpu else []
        return [self._emulator, *cpu, *plugin, self._program, _SAMPLES, _ANSWERS]


@cache
def _counter() -> bytes:
    """The emulator's plugin that counts, compiled once in this process."""
    cc = require("cc", "gcc", "counting instructions")
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder) / _COUNTER
        flags = ["-O2", "-shared", "-fPIC", "-fvisibility=hidden"]
        run([cc, *flags, "-o", built, COUNTER], "compiling the counter")
        return built.read_bytes()


def _check_choice(target: Target, cpu: str | None, kernels: str) -> None:
    """Raises UserError for what the target does not have."""
    if not target.emulator:
        raise UserError(f"{target.name} is the host: omit --target")
    if cpu and not target.cpus:
        raise UserError(f"--cpu does not apply to {target.name}")
    if kernels and kernels not in ("ref", *target.tables):
        known = ", ".join(("ref", *target.tables))
        raise UserError(f"{target.name} has no kernels '{kernels}'; there are: {known}")


def _parse(model: EdgeModel, data: bytes, at: int) -> tuple[list[Array], int]:
    """All outputs of one sample, and where the next begins."""
    arrays: list[Array] = []
    for port in model.outputs:
        t = model.tensors[port.tensor]
        if at + t.nbytes > len(data):
            raise RuntimeError("the emulated program did not write all outputs")
        a = np.frombuffer(data, NUMPY_OF[t.dtype], t.nbytes // NUMPY_OF[t.dtype].itemsize, at)
        arrays.append(a.reshape(port.held_shape))
        at += t.nbytes
    return arrays, at


def _counts(text: str, model: EdgeModel) -> tuple[int, list[int]]:
    """Instructions of the first inference and of its operators, from the counter's lines. Those of
    branches and loops, and of what lies between them, are the first border's."""
    marks = [(kind, int(n)) for kind, n in (line.split() for line in text.splitlines())]
    depth: list[int] = []
    ran: list[int] = []
    for kind, n in marks:
        if kind == "begin":
            depth.append(n)
        elif kind == "end":
            spent = n - depth.pop() - 1  # the marker itself
            if not depth:
                return spent - 2 * len(ran), _by_operator(ran, model)
            ran.append(spent)
    raise UserError("the emulator counted nothing: its plugin interface is not version 1")


def _by_operator(ran: list[int], model: EdgeModel) -> list[int]:
    ops = len(model.ops)
    borders = [i for i, op in enumerate(model.ops) if op.kind == OpKind.Region]
    if borders:
        before, behind = borders[0], ops - 1 - borders[-1]
        end = len(ran) - behind
        rest = [sum(ran[before:end]), *[0] * (ops - before - behind - 1)]
        ran = [*ran[:before], *rest, *ran[end:]]
    if len(ran) != ops:
        raise RuntimeError(f"{len(ran)} operators were counted, the model has {ops}")
    return ran
