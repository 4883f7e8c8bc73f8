"""`edgekit bench --target fpga_opencl`: where operators run, what crosses, and estimated cycles."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...toolkit.device.bench import random_inputs
from ...toolkit.files import read_edge
from ...toolkit.format.reader import read
from ...toolkit.runtime import Session
from .config import Config
from .estimate import Estimate, estimate
from .opencl import OpenClSession


@dataclass(frozen=True)
class OpTime:
    """An operator of one run; seconds are the emulator's on this machine, not an FPGA's."""

    name: str
    operator: str
    on_device: bool
    to_device_bytes: int
    to_host_bytes: int
    seconds: float


@dataclass(frozen=True)
class FpgaCost:
    """One inference on `device`, kernels compiled before. `same_bytes`: outputs were those of this
    machine's own kernels."""

    device: str
    same_bytes: bool
    seconds: float
    home_bytes: int
    ops: list[OpTime]
    estimate: Estimate

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def bench_on_fpga(model: str | Path, device: str | None, config: Config) -> FpgaCost:
    """Run one inference on random inputs of a fixed seed. Raises UserError."""
    parsed = read(read_edge(model), str(model))
    with OpenClSession(model, device, config) as session:
        host = Session(model)
        feed = {
            io.name: raw.reshape(io.shape)
            for io, raw in zip(session.inputs, random_inputs(parsed), strict=True)
        }
        session.run_raw(feed)  # OpenCL drivers compile a kernel when it is first run
        got, wanted = session.run_raw(feed), host.run_raw(feed)
        stats = session.stats()
        return FpgaCost(
            session.kernels,
            all((got[name] == wanted[name]).all() for name in wanted),
            sum(s.seconds for s in stats),
            stats[-1].to_host_bytes,
            [
                OpTime(
                    name,
                    op.kind.name,
                    s.on_device,
                    s.to_device_bytes,
                    s.to_host_bytes,
                    s.seconds,
                )
                for name, op, s in zip(parsed.op_names, parsed.ops, stats, strict=False)
            ],
            estimate(parsed, session.config),
        )


__all__ = ["FpgaCost", "bench_on_fpga"]
