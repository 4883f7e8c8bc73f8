"""What operators say of themselves holds of what they compute."""

import numpy as np
import onnx
import pytest

from edgekit.toolkit.build import build_file, build_model
from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.ops import ALL, definition
from edgekit.toolkit.passes import DEFAULT, run_passes
from edgekit.toolkit.runtime import Session

TURNED = "t = Transpose <perm: ints = [0,2,1]> (x)"
IMAGE = "float[1,4,6,6] x"
MODELS = {
    "convolution": (IMAGE, "y = Conv <pads: ints = [1,1,1,1]> (x, w)", (6, 4, 3, 3), 36 * 6 * 36),
    "depthwise": (IMAGE, "y = Conv <group: int = 4, strides: ints = [2,2]> (x, w)", (4, 1, 3, 3),
                  4 * 4 * 9),
    "groups": (IMAGE, "y = Conv <group: int = 2> (x, w)", (6, 2, 3, 3), 16 * 6 * 18),
    "transposed": (IMAGE, "y = ConvTranspose <strides: ints = [2,2]> (x, w)", (4, 5, 3, 3),
                   36 * 4 * 45),
    "product": ("float[3,7] x", "y = MatMul (x, w)", (7, 5), 3 * 7 * 5),
    "two tensors": ("float[2,3,7] x", f"{TURNED}\n y = MatMul (x, t)", (), 2 * 3 * 7 * 3),
    "recurrent": ("float[3,1,4] x", "y = GRU <hidden_size: int = 5> (x, w, r)", (1, 15, 4),
                  3 * 15 * (4 + 5)),
}  # fmt: skip
"""The inputs, the operators, the shape of w, and the products of a run."""


def graph_of(feeds, body, *shapes):
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 17]> g ({feeds}) => (float y) {{ {body} }}'
    )
    rng = np.random.default_rng(0)
    for name, shape in zip("wr", shapes, strict=False):
        array = rng.normal(size=shape).astype(np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    model.graph.output[0].type.tensor_type.ClearField("shape")
    graph = load(model)
    run_passes(graph, DEFAULT)
    return graph


@pytest.mark.parametrize("name", MODELS)
def test_a_graph_and_its_file_say_as_many_products_as_there_are(name):
    feeds, body, shape, products = MODELS[name]
    graph = graph_of(feeds, body, shape, (1, 15, 5))
    assert sum(definition(n.op).macs(n) for n in graph.nodes) == products
    assert build_model(graph).memory.macs == products


BODIES = {
    "LeakyRelu": "y = LeakyRelu <alpha: float = 0.25> (x)",
    "PRelu": "y = PRelu (x, w)",
    "MaxPool2d": "y = MaxPool <kernel_shape: ints = [2,2]> (x)",
    "AvgPool2d": "y = AveragePool <kernel_shape: ints = [2,2], strides: ints = [2,2]> (x)",
    "Resize": 'y = Resize <mode: string = "linear"> (x, , s)',
}


def made_by(op):
    body = BODIES[op]
    if op == "Resize":
        body = "s = Constant <value_floats: floats = [1.0, 1.0, 2.0, 2.0]> ()\n " + body
    graph = graph_of(IMAGE, body, (4, 1, 1))
    assert op in {n.op for n in graph.nodes}
    session = Session(build_file(graph))
    return lambda x: next(iter(session.run({"x": x}).values()))


def test_channels_are_said_of_float_operators_that_are_tried_here():
    said = {n for n, op in ALL.items() if op.channelwise & {"scale", "shift"}}
    assert said == set(BODIES)


@pytest.mark.parametrize("op", BODIES)
def test_what_passes_channel_by_channel_does(op):
    run, rng = made_by(op), np.random.default_rng(1)
    x = rng.normal(size=(1, 4, 6, 6)).astype(np.float32)
    by = np.float32([0.5, 2, 4, 8]).reshape(1, 4, 1, 1)
    said = ALL[op].channelwise
    assert "scale" not in said or np.allclose(run(x * by), run(x) * by, atol=1e-5)
    assert "shift" not in said or np.allclose(run(x + by), run(x) + by, atol=1e-5)


def test_views_run_nothing_and_selections_keep_their_range():
    assert {n for n, op in ALL.items() if op.view} == {"Reshape", "Reinterpret"}
    assert all(op.shared or op.fn for op in ALL.values() if op.selects)
