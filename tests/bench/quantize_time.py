"""CPU seconds and peak memory of `edgekit quantize` beside onnxruntime's quantize_static.

    python tests/bench/quantize_time.py [MODEL ...] [--setting "NAME: OPTIONS"]... [--ort]
    python tests/bench/quantize_time.py kws ic --setting "default:" --setting "fast: --effort fast"

Each contestant runs in a process of its own on the model's calibration samples, imports included.
Seconds are of all its threads (user and system), so other work on the machine does not count. --ort
runs onnxruntime's tool as well (QDQ, per channel, min-max, after its pre-processing). MODEL is a
folder of the collection ($EDGEKIT_MODELS), its short name, or mobilenet_v2: a network of that shape
with random weights on smooth random images. The first 16 digits of each file's SHA-256 show whether
two versions of edgekit write the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
from accuracy import EDGEKIT, Model
from collection import eval_lib
from host import feeds_of
from host_peers import ort_int8
from onnx import TensorProto, helper, numpy_helper

DEFAULT = (
    *("kws", "ic", "mobilenet", "ultraface", "face_landmark", "ppocrv4_det", "minilm"),
    "mobilenet_v2",
)
SIDE, IMAGES = 224, 64
STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
          (6, 320, 1, 1))  # fmt: skip
"""Of MobileNetV2 (Sandler et al. 2018, arXiv:1801.04381, table 2): expansion, channels, number of
blocks, stride of the first."""


class Network:
    """An ONNX graph of convolutions as it grows, with weights that keep variances."""

    def __init__(self):
        self.random = np.random.default_rng(0)
        self.nodes, self.constants, self.last, self.channels = [], [], "image", 3

    def add(self, op, inputs, **attributes):
        self.last = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [self.last], **attributes))

    def constant(self, name, values):
        self.constants.append(numpy_helper.from_array(np.asarray(values, np.float32), name))
        return name

    def conv(self, channels, kernel=1, stride=1, groups=1, clamp=True):
        at, depth = len(self.nodes), self.channels // groups
        shape = (channels, depth, kernel, kernel)
        weights = self.random.normal(0, np.sqrt(2 / (depth * kernel**2)), shape)
        bias = self.random.normal(0, 0.1, channels)
        names = [self.constant(f"w{at}", weights), self.constant(f"b{at}", bias)]
        pads = [kernel // 2] * 4
        self.add("Conv", [self.last, *names], strides=[stride] * 2, pads=pads, group=groups)
        self.channels = channels
        if clamp:
            self.add("Clip", [self.last, "zero", "six"])

    def block(self, expansion, channels, stride):
        start, before = self.last, self.channels
        if expansion > 1:
            self.conv(expansion * before)
        self.conv(self.channels, 3, stride, self.channels)
        self.conv(channels, clamp=False)
        if stride == 1 and before == channels:
            self.add("Add", [start, self.last])


def mobilenet_v2(folder):
    """(ONNX file, samples) of a network with the shape of MobileNetV2 1.0."""
    net = Network()
    net.constant("zero", 0)
    net.constant("six", 6)
    net.conv(32, 3, 2)
    for expansion, channels, count, stride in STAGES:
        for i in range(count):
            net.block(expansion, channels, stride if i == 0 else 1)
    net.conv(1280)
    net.add("GlobalAveragePool", [net.last])
    net.add("Flatten", [net.last])
    weights = net.random.normal(0, np.sqrt(1 / 1280), (1000, 1280))
    names = [net.constant("w", weights), net.constant("b", np.zeros(1000))]
    net.add("Gemm", [net.last, *names], transB=1)
    ports = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (("image", [1, 3, SIDE, SIDE]), (net.last, [1, 1000]))
    ]
    graph = helper.make_graph(net.nodes, "mobilenet_v2", ports[:1], ports[1:], net.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, folder / "mobilenet_v2.onnx")
    coarse = net.random.normal(0, 1, (IMAGES, 3, SIDE // 16, SIDE // 16)).astype(np.float32)
    smooth = coarse.repeat(16, axis=2).repeat(16, axis=3)
    images = smooth + net.random.normal(0, 0.1, smooth.shape).astype(np.float32)
    np.savez(folder / "calib.npz", image=images)
    return SimpleNamespace(onnx=folder / "mobilenet_v2.onnx", calib=folder / "calib.npz", shapes={})


LAUNCH = """
import os, sys
silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
process = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=silent)
_, status, usage = os.wait4(process, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""
"""What starts a process counts as memory of it: this is small."""


def spent(command):
    """(exit status, CPU seconds, MiB at most) of a process and those that it waits for."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    launch = [sys.executable, "-I", "-S", "-c", LAUNCH, *command]
    said = subprocess.run(launch, stdout=subprocess.PIPE, env=kept, text=True, check=True).stdout
    status, seconds, peak = said.split()
    return int(status), float(seconds), int(peak) / 1024


def ours(model, options, folder):
    """A line on what `edgekit quantize` takes with these options."""
    made = folder / "made.edge"
    made.unlink(missing_ok=True)
    shapes = [f"{name}={','.join(map(str, shape))}" for name, shape in model.shapes.items()]
    words = [word for shape in shapes for word in ("--shape", shape)]
    command = ["quantize", str(model.onnx), "--calib", str(model.calib), "-o", str(made), *words]
    status, seconds, peak = spent([*EDGEKIT, *command, *options])
    digest = hashlib.sha256(made.read_bytes()).hexdigest()[:16] if made.exists() else "no file"
    return f"{seconds:8.1f} s {peak:7.0f} MiB  {digest}  exit {status}"


def peer(model, folder):
    """A line on what onnxruntime's tool takes."""
    program = [sys.executable, __file__, "--peer", str(model.onnx), str(model.calib), str(folder)]
    status, seconds, peak = spent(program)
    return f"{seconds:8.1f} s {peak:7.0f} MiB  {'' if status == 0 else 'failed'}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--setting", action="append", help="'NAME: OPTIONS', may be repeated")
    parser.add_argument("--ort", action="store_true")
    parser.add_argument("--peer", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peer:
        onnx_file, calib, folder = map(Path, args.peer)
        sys.exit(not ort_int8(onnx_file, feeds_of(calib, 1 << 20), folder / "peer.onnx"))
    library = eval_lib()
    for name in args.models or DEFAULT:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            random = name == "mobilenet_v2"
            model = mobilenet_v2(folder) if random else Model(library, name, folder)
            lines = [(s.split(":", 1)) for s in args.setting or ["default:"]]
            for label, options in lines:
                print(f"{name:15} {label:12} {ours(model, options.split(), folder)}", flush=True)
            if args.ort:
                print(f"{name:15} {'onnxruntime':12} {peer(model, folder)}", flush=True)


if __name__ == "__main__":
    main()
