"""The C that makes inputs of a model (project/input.c): written, compiled here, run on a device."""

import ctypes
import json
import subprocess

import numpy as np

from edgekit import runtime_c, targets
from edgekit.toolkit.build import build_file
from edgekit.toolkit.device.build import build
from edgekit.toolkit.device.described import describe_for_c
from edgekit.toolkit.device.templates import render
from edgekit.toolkit.format.model import Provenance
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.ir import Graph, Node, Port, TensorType, Value


def file_of(shape, kind, quant, record):
    """A file whose only input is "x" of this type, with the record of what makes it."""
    x = Value("x", TensorType(np.dtype(kind), shape), quant=quant)
    y = Value("y", TensorType(np.dtype(kind), (1, int(np.prod(shape)))), quant=quant)
    node = Node("Reshape", [x], [y], {"shape": y.shape}, "y")
    graph = Graph([node], [Port("x", x, 1, shape)], [Port("y", y, 1, y.shape)])
    options = json.dumps({"preprocessing": {"x": record.to_json()}})
    return build_file(graph, Provenance("edgekit", options=options))


def library_of(folder, data, compiler, *more):
    """m_input.c of the file as a shared library; `more` are words for the compiler."""
    about = describe_for_c(read(data), "m", "m.edge")
    values = {"prefix": "m", "header": "m_model", "renamed": True, "bare_metal": True, "arena": 1,
              "persistent": 0, "about": about, "self_test": None, "several": False,
              "symbols": []}  # fmt: skip
    render("project/model.h", folder, "m_model.h", **values)
    render("project/input.c", folder, "m_input.c", **values)
    command = [compiler, "-std=c11", "-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-Wpedantic",
               "-Werror", "-Wconversion", f"-I{runtime_c.SOURCE / 'include'}", "m_input.c",
               *more, "-o", "m.so"]  # fmt: skip
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "m.so"))


def on_device(target, folder, data, main, given):
    """What the firmware of the file writes for `given`, with `main` behind the lines that include
    its files' reader and writer."""
    (folder / "m.edge").write_bytes(data)
    fw = folder / "fw"
    assert "m_input.c" in build(folder / "m.edge", target.name, fw).files
    runner = targets.FOLDER / "runner"
    files = ["io.h"] if target.bare_metal else [runner / "io.h", runner / "io_linux.c"]
    (fw / "main.c").write_text("".join(f'#include "{f}"\n' for f in files) + main)
    toolchain = ["-DCMAKE_TOOLCHAIN_FILE=toolchain.cmake"]
    for command in (["cmake", "-B", "b", *toolchain], ["cmake", "--build", "b"]):
        done = subprocess.run(command, cwd=fw, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    (fw / "in.bin").write_bytes(given)
    _run(target, fw, "in.bin", "out.bin")
    return (fw / "out.bin").read_bytes()


def _run(target, folder, *words):
    """Run the project's program on the target's emulator."""
    if target.bare_metal:
        arguments = ",".join(f"arg={w}" for w in ("app", *words))
        command = [target.emulator, "-M", target.machine, *target.emulator_arguments,
                   "-display", "none", "-monitor", "none", "-serial", "none",
                   "-semihosting-config", f"enable=on,target=native,{arguments}",
                   "-kernel", "b/app"]  # fmt: skip
    else:
        command = [target.emulator, "b/app", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300,
                          check=False)  # fmt: skip
    assert done.returncode == 0, (done.returncode, done.stderr)
