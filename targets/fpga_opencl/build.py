"""`edgekit build --target fpga_opencl`: kernels, host program, compiler's command lines."""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ... import runtime_c, targets
from ...toolkit.device.folder import check_folder, install
from ...toolkit.device.process import require, run
from ...toolkit.files import read_edge
from ...toolkit.format.reader import read
from ...toolkit.format.strip import strip
from .config import FOLDER, HEADER, KERNELS, Config, kernels
from .estimate import Estimate, estimate
from .partition import Placed, boundaries, partition


@dataclass(frozen=True)
class BuiltForFpga:
    """What was written, where operators run, and what it is expected to cost. `kept` are files that
    the user changed."""

    output: str
    files: list[str]
    placed: list[Placed]
    crossings: list[dict[str, Any]]
    estimate: Estimate
    kept: list[str]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def build_for_fpga(
    model: str | Path, output: str | Path, config: Config, *, force: bool = False
) -> BuiltForFpga:
    """Write a folder from which the accelerator is compiled for a board and a model run on it.

    Files of the user's in it are left alone as `edgekit.toolkit.device.build.build` does. Raises
    UserError; then the folder is as it was.
    """
    out = Path(output)
    check_folder(out)
    parsed = read(read_edge(model), str(model))
    data, placed = partition(parsed, config)
    found = estimate(parsed, config)
    crossings = [
        {"operator": i, "bytes": parsed.tensors[t].nbytes, "to_accelerator": there}
        for i, t, there in boundaries(read(data))
    ]
    with tempfile.TemporaryDirectory() as temporary:
        staged = Path(temporary) / "out"
        staged.mkdir()
        (staged / KERNELS).write_text(kernels())
        (staged / HEADER).write_text(config.header())
        (staged / "model.edge").write_bytes(strip(data))
        (staged / "estimate.json").write_text(json.dumps(found.to_json(), indent=2) + "\n")
        for name in ("compile.sh", "main.c", "CMakeLists.txt"):
            shutil.copy(FOLDER / "deploy" / name, staged)
        shutil.copytree(runtime_c.SOURCE / "include" / "edgekit", staged / "include" / "edgekit")
        shutil.copy(FOLDER / "host" / "opencl.h", staged / "include")
        _archive(Path(temporary) / "host", staged)
        kept = install(staged, out, force=force, own=("main.c",))
        files = sorted(str(p.relative_to(staged)) for p in staged.rglob("*") if p.is_file())
    return BuiltForFpga(str(out), files, placed, crossings, found, kept)


def _archive(work: Path, staged: Path) -> None:
    """libedgekit.a for this machine, with all operators and the OpenCL backend."""
    cmake = require("cmake", "cmake", "building the host's side")
    require("cc", "gcc", "building the host's side")
    command: list[str | Path] = [cmake, "-S", runtime_c.SOURCE, "-B", work]
    command += [f"-DEDGEKIT_BACKENDS={FOLDER.name}", f"-DEDGEKIT_TARGETS_DIR={targets.FOLDER}"]
    run(command, "configuring the host's side")
    run([cmake, "--build", work, "--parallel", "2"], "compiling the host's side")
    shutil.copy(work / "libedgekit.a", staged)


__all__ = ["BuiltForFpga", "build_for_fpga"]
