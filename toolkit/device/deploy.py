"""What a target's own project needs beside the runtime and the model: its folder deploy/, and the
start-up and C library of its programs. It is linked too, so that `edgekit build` leaves products.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from ... import targets
from ...targets import Target
from .process import require, run


def write_deployment(folder: Path, target: Target) -> None:
    """Copy it into `folder`; its CMakeLists.txt includes runtime.cmake, which adds the runtime."""
    shutil.copytree(target.folder / "deploy", folder, dirs_exist_ok=True)
    shutil.copytree(target.folder / "include", folder / "include", dirs_exist_ok=True)
    for source in target.world:
        _copy_below(folder / "world", target.folder, target.folder / source)
    for header in target.headers:
        _copy_below(folder / "world", target.folder, target.folder / header)
    shutil.copy(targets.FOLDER / "runner" / "io.h", folder / "world")


def link_deployment(folder: Path, target: Target, scratch: Path) -> None:
    """Build the project in `folder` and put its products there."""
    cmake = require("cmake", "cmake", f"building for {target.name}")
    toolchain = folder / "toolchain.cmake"
    configure: list[str | Path] = [
        cmake,
        "-S",
        folder,
        "-B",
        scratch,
        f"-DCMAKE_TOOLCHAIN_FILE={toolchain}",
    ]
    run([*configure, "-DCMAKE_BUILD_TYPE=MinSizeRel"], "configuring the project")
    run([cmake, "--build", scratch], "linking the project")
    for product in target.project:
        shutil.copy(scratch / product, folder)


def _copy_below(to: Path, root: Path, path: Path) -> None:
    place = to / path.relative_to(root)
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, place)
