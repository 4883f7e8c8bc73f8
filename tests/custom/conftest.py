"""The operators of docs/examples/custom, and a network of them."""

from pathlib import Path

import numpy as np
import onnx
import pytest

import edgekit
from edgekit.toolkit.build import build_file
from edgekit.toolkit.model_files import load
from edgekit.toolkit.quantize import Options, calibrate, quantize_graph

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples" / "custom"

NET = """
<ir_version: 8, opset_import: ["" : 17, "example" : 1]>
net (float[1,6,16] x) => (float[1,6,16] y, float[1,6,16] z) {
  a = example.Median <radius: int = 2> (x)
  b = Relu (a)
  y = example.Median (b)
  c = Abs (x)
  z = example.PCEN <smooth: float = 0.1> (c)
}
"""


@pytest.fixture(scope="session")
def net(tmp_path_factory):
    """An ONNX file with both, and calibration samples beside it."""
    folder = tmp_path_factory.mktemp("custom")
    onnx.save(onnx.parser.parse_model(NET), folder / "net.onnx")
    rng = np.random.default_rng(0)
    np.savez(folder / "data.npz", x=rng.normal(0, 2, (12, 6, 16)).astype(np.float32))
    return folder / "net.onnx"


@pytest.fixture(scope="session")
def files(net, feeds):
    """(float, int8, int16) files of it, made before any C of it was given."""
    for name in ("median", "pcen"):
        edgekit.register_op(EXAMPLES / f"{name}.py")
    made = [net.with_name(f"{kind}.edge") for kind in ("float", "int8", "int16")]
    edgekit.convert(net, made[0])
    edgekit.quantize(net, net.with_name("data.npz"), made[1])
    graph = load(net, finite=True)
    wide = Options(wide=frozenset("aby"))
    of_int16, _ = quantize_graph(graph, calibrate(graph, feeds).extremes(), wide)
    made[2].write_bytes(build_file(of_int16))
    by_python = [[edgekit.Session(path).run(feed) for feed in feeds] for path in made]
    for name in ("median", "pcen"):
        edgekit.register_op(EXAMPLES / f"{name}.c")
    return dict(zip(("float", "int8", "int16"), zip(made, by_python, strict=True), strict=True))


@pytest.fixture(scope="session")
def feeds(net):
    return [{"x": x[None]} for x in np.load(net.with_name("data.npz"))["x"]]
