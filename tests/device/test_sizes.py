"""Models whose dimensions vary, on devices: at each size the bytes of this machine."""

import json

import numpy as np
import onnx
import pytest

from edgekit.toolkit import pipeline
from edgekit.toolkit.cli.main import main
from edgekit.toolkit.device.bench import bench
from edgekit.toolkit.device.build import build
from edgekit.toolkit.device.emulate import Device
from edgekit.toolkit.device.session import session_on
from edgekit.toolkit.dynamic import Range
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.runtime import Session

from .test_self_test import answer, program

DEVICES = ("cortex_m4", "cortex_m55", "aarch64_linux", "armv7_linux", "riscv32_imc", "hexagon_hvx")
SIZES = ((8, 8), (24, 16), (32, 48))

IMAGE = """
<ir_version: 8, opset_import: ["" : 17]>
image (float[1,3,h,w] x) => (float[1,6,4] out) {
  a = Conv <pads: ints = [1,1,1,1], strides: ints = [2,2]> (x, first)
  r = Relu (a)
  d = Conv <pads: ints = [1,1,1,1], group: int = 8> (r, depthwise)
  g = GlobalAveragePool (d)
  m = Mul (r, g)
  t = ConvTranspose <strides: ints = [2,2]> (m, up)
  rows = Reshape (t, six)
  last = Transpose <perm: ints = [0,2,1]> (rows)
  product = MatMul (rows, last)
  p = Softmax <axis: int = -1> (product)
  out = MatMul (p, weights)
}
"""


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("sizes"), np.random.default_rng(8)

    def reals(*shape):
        return rng.normal(0, 0.4, shape).astype(np.float32)

    constants = {
        "first": reals(8, 3, 3, 3), "depthwise": reals(8, 1, 3, 3), "up": reals(8, 6, 2, 2),
        "weights": reals(6, 4), "six": np.array([1, 6, -1], np.int64),
    }  # fmt: skip
    model = onnx.parser.parse_model(IMAGE)
    model.graph.initializer.extend(onnx.numpy_helper.from_array(a, n) for n, a in constants.items())
    onnx.save(model, folder / "image.onnx")
    samples = [{"x": rng.normal(0.2, 1, (1, 3, *size)).astype(np.float32)} for size in (SIZES * 4)]
    pipeline.quantize(
        folder / "image.onnx", samples, folder / "image.edge", effort="fast",
        shapes={"x": (1, 3, Range(8, 48, 8), Range(8, 48, 8))}, on_low_accuracy="warn",
    )  # fmt: skip
    return folder / "image.edge", samples[:3]


@pytest.mark.parametrize("name", DEVICES)
def test_each_size_has_the_hosts_bytes(ready, image, name):
    path, samples = image
    session = Session(path)
    samples = [*samples, samples[0]]
    with Device(path.read_bytes(), ready(name)) as device:
        ran = device.run([session.to_raw(sample) for sample in samples])
    for sample, (got,) in zip(samples, ran.outputs, strict=True):
        np.testing.assert_array_equal(got, session.run_raw(sample)["out"])
    if name.startswith("cortex_m"):
        assert 0 < ran.stack_bytes < 2048


def test_check_and_bench_on_a_device(ready, image, capsys):
    target, (path, samples) = ready("cortex_m4"), image
    onnx_file = path.with_suffix(".onnx")
    here, there = (pipeline.check(path, onnx_file, samples, target=t) for t in (None, target.name))
    assert [o.sqnr_db for o in here.outputs] == [o.sqnr_db for o in there.outputs]
    device, session = session_on(path, target.name, samples), Session(path)
    for sample in reversed(samples):
        got, wanted = device.run(sample)["out"], session.run(sample)["out"]
        np.testing.assert_array_equal(got, wanted)

    largest = bench(path, target.name)
    named = ["bench", str(path), "--target", target.name, "--dim", "h=8", "--dim", "w=16"]
    assert main([*named, "--json"]) == 0
    small = json.loads(capsys.readouterr().out)
    assert small["macs"] == sum(op["macs"] for op in small["ops"])
    assert 0 < small["macs"] * 18 < largest.macs * 1.1
    assert small["instructions_per_inference"] < largest.instructions_per_inference / 12
    for given, said in (({"depth": 3}, "no variable dimension 'depth'; available: h, w"),
                        ({"h": 9}, "h is 9; the file takes h=8..48:8")):  # fmt: skip
        with pytest.raises(UserError, match=said):
            bench(path, target.name, sizes=given)


@pytest.mark.parametrize("name", ["cortex_m4", "aarch64_linux"])
def test_a_project_tests_itself_and_binds_a_size(ready, image, tmp_path, name):
    target, (path, _) = ready(name), image
    build(path, name, tmp_path / "fw")
    program(tmp_path / "fw", name)
    assert answer(tmp_path / "fw", target) == (0, "self-test passed\n")
    header = (tmp_path / "fw" / "image_model.h").read_text()
    for line in ('SYMBOL_0_NAME "h"', "SYMBOL_1_HIGHEST 48", "LOWEST_SIZES { 8, 8 }", "SYMBOLS 2"):
        assert f"#define IMAGE_{line}\n" in header


def test_accelerators_and_boards_take_one_size(image):
    path, samples = image
    with pytest.raises(UserError, match=r"of it vary \(h=8..48:8, w=8..48:8\), and fpga_opencl"):
        session_on(path, "fpga_opencl", samples)
    with pytest.raises(UserError, match=r"a board's program runs models of one size; write"):
        session_on(path, "serial:/dev/none", samples)
