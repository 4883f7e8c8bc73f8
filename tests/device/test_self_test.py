"""The self-test of a build passes on the device, and names the operator whose kernel is wrong."""

import subprocess
import zlib

import numpy as np
import pytest

from edgekit.toolkit.build import build_file
from edgekit.toolkit.device.build import build
from edgekit.toolkit.device.emulate import Device
from edgekit.toolkit.device.self_test import exact_operators, pseudo_random, self_test, widths
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.ir import Graph, Node, Port, QuantParams, TensorType, Value
from edgekit.toolkit.retarget import retarget


def program(folder, name):
    toolchain = ["-DCMAKE_TOOLCHAIN_FILE=toolchain.cmake"] * name.endswith("linux")
    for command in (["cmake", "-B", "b", *toolchain], ["cmake", "--build", "b"]):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def answer(folder, target):
    """(exit status, what was printed) of the program."""
    if target.bare_metal:
        command = [target.emulator, "-M", target.machine, *target.emulator_arguments,
                   "-display", "none", "-monitor", "none", "-serial", "none",
                   "-semihosting-config", "enable=on,target=native",
                   "-kernel", "b/app"]  # fmt: skip
    else:
        command = [target.emulator, "b/app"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120,
                          check=False)  # fmt: skip
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("name", "model"),
    [("cortex_m4", "digits"), ("cortex_m0plus", "digits"), ("cortex_m55", "int16"),
     ("riscv32_imc", "handed_over"), ("aarch64_linux", "digits")],
)  # fmt: skip
def test_the_self_test_passes_on_the_device(ready, model_file, tmp_path, name, model):
    target = ready(name)
    build(model_file(model)[0], name, tmp_path / "fw")
    program(tmp_path / "fw", name)
    status, said = answer(tmp_path / "fw", target)
    assert status == 0 and "self-test passed" in said


BREAKS = (
    ("pool", "cortex_m/dsp/elementwise_s8.c", "i < count; i++) four", "i + 1 < count; i++) four"),
    ("probabilities", "ops/norm/softmax_s8.c", "q : 255) - 128", "q : 255) - 127"),
)


def test_a_broken_kernel_is_named_by_its_operator(ready, model_file, tmp_path):
    target = ready("cortex_m4")
    fw = tmp_path / "fw"
    build(model_file("digits")[0], "cortex_m4", fw, sources=True)
    program(fw, "cortex_m4")
    assert answer(fw, target) == (0, "self-test passed\n")
    for name, file, right, wrong in BREAKS:
        source = fw / "src" / file
        before = source.read_text()
        assert right in before
        source.write_text(before.replace(right, wrong))
        program(fw, "cortex_m4")
        assert answer(fw, target) == (6, f"self-test failed: {name}\n")
        source.write_text(before)


def test_inputs_and_checksums_are_those_of_the_generator(ready, model_file):
    """By the emulator, which gives the outputs of the last operator."""
    path, _ = model_file("digits")
    data = path.read_bytes()
    model, test = read(data), self_test(data)
    (x,) = pseudo_random(model)
    state, words = 1, []
    for _ in range(3):
        state = (state * 1664525 + 1013904223) % 2**32
        words.append((state >> 24) - 256 * (state >> 31))
    assert x.dtype == np.int8 and x.ravel()[:3].tolist() == words
    assert test.widths == [1] and len(test.checksums) == len(model.ops) and all(test.checksums)
    with Device(data, ready("cortex_m4")) as device:
        ((answer,),) = device.run([[x]]).outputs
    assert zlib.crc32(answer.tobytes()) == test.checksums[-1]


def test_floats_are_not_compared_nor_what_is_made_of_them():
    x, f, g, y = (
        Value(n, TensorType(np.dtype(k), (1, 6)), quant=q)
        for n, k, q in (
            ("x", np.int8, QuantParams((0.1,), 3)),
            ("f", np.float32, None),
            ("g", np.float32, None),
            ("y", np.int8, QuantParams((0.1,), 3)),
        )
    )
    nodes = [
        Node("Dequantize", [x], [f], {}, "f"),
        Node("Exp", [f], [g], {}, "g"),
        Node("Quantize", [g], [y], {}, "y"),
    ]
    data = build_file(Graph(nodes, [Port("x", x, 1, x.shape)], [Port("y", y, 1, y.shape)]))
    assert exact_operators(read(data)) == [False, False, False]
    assert self_test(data).checksums == [0, 0, 0] and widths(read(data)) == [1]


def test_a_packed_file_has_no_self_test(model_file):
    data = model_file("digits")[0].read_bytes()
    assert self_test(retarget(data, read(data), "cortex_m_dsp")) is None
