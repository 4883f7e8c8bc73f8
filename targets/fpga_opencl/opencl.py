"""OpenCL devices by the names that users give them, and sessions on them."""

from __future__ import annotations

import os
import sys
import tempfile
from functools import cache
from pathlib import Path

from ...toolkit.errors import UserError
from ...toolkit.files import read_edge, read_file
from ...toolkit.format.reader import read
from ...toolkit.runtime import MAX_MEMORY, Model
from .accelerator import AcceleratedSession, Accelerator, OpenClDevice, opencl_devices
from .config import Config, kernels
from .partition import partition

_KNOWN = {"pocl": "Portable Computing Language", "intel-fpga-emulator": "FPGA Emulation"}
_VENDORS = Path("/etc/OpenCL/vendors")


@cache
def _drivers() -> tempfile.TemporaryDirectory[str] | None:
    """Make the loader see Intel's emulator when pip installed it beside this Python.

    Its own .icd file names a path of the machine that packed it. OCL_ICD_VENDORS goes first.
    """
    library = Path(sys.prefix) / "lib" / "libintelocl_emu.so"
    if "OCL_ICD_VENDORS" in os.environ or not library.exists():
        return None
    folder = tempfile.TemporaryDirectory()
    for icd in _VENDORS.glob("*.icd"):
        (Path(folder.name) / icd.name).write_text(icd.read_text())
    (Path(folder.name) / "intel-fpga-emulator.icd").write_text(f"{library}\n")
    os.environ["OCL_ICD_VENDORS"] = folder.name
    return folder


def devices() -> list[OpenClDevice]:
    """The OpenCL devices of this machine. Raises UserError that says why there is none."""
    _drivers()
    return opencl_devices()


def choose(name: str | None) -> OpenClDevice:
    """The device that `name` means.

    "pocl", "intel-fpga-emulator", a part of a platform's or device's name, or "auto": an
    accelerator if there is one, else the first. Raises UserError that lists what there is.
    """
    found = devices()
    if name in (None, "auto"):
        return max(found, key=lambda d: (d.accelerator, -d.index))
    wanted = _KNOWN.get(str(name), str(name)).lower()
    for d in found:
        if wanted in d.platform.lower() or wanted in d.name.lower():
            return d
    there = "; ".join(f"{d.name} ({d.platform})" for d in found)
    raise UserError(f"no OpenCL device '{name}' here; there are: {there}")


def program_for(device: OpenClDevice, program: str | Path | None) -> bytes:
    """What to load: the file `program`, else the kernels' source."""
    if program is not None:
        return read_file(program, "OpenCL C or a binary for the device")
    if device.accelerator and "emulation" not in f"{device.platform} {device.name}".lower():
        raise UserError(
            f"{device.name} takes a compiled program, not source: pass its .aocx or .xclbin to "
            "OpenClSession(program=...); `edgekit build --target fpga_opencl` writes the "
            "compiler's command lines"
        )
    return kernels().encode()


class OpenClSession(AcceleratedSession):
    """`source` on the device that `name` means, placed for the program that runs there."""

    def __init__(
        self,
        source: str | Path,
        name: str | None = None,
        config: Config | None = None,
        program: str | Path | None = None,
        max_memory: int | None = MAX_MEMORY,
    ) -> None:
        config = config or Config.sized()
        device = choose(name)
        accelerator = Accelerator(
            device, program_for(device, program), config.options(device.channels)
        )
        built = accelerator.config
        self.config = Config(
            **{
                k: built[k]
                for k in ("vec", "lanes", "line_words", "weight_words", "pool_words", "taps")
            }
        )
        data, self.placed = partition(read(read_edge(source), str(source)), self.config)
        super().__init__(Model(data, name=str(source)), accelerator, max_memory=max_memory)


__all__ = ["OpenClSession", "choose", "devices"]
