"""Targets, and what of them this machine can build and run."""

import os
from pathlib import Path

import numpy as np
import pytest

from edgekit import targets
from edgekit.toolkit.build import build_file
from edgekit.toolkit.device.process import find
from edgekit.toolkit.ir import Graph, Node, Port, QuantParams, TensorType, Value, constant
from edgekit.toolkit.numerics import INT16, PRECISIONS, W8A8, WEIGHT_TYPES
from edgekit.toolkit.ops import definition
from edgekit.toolkit.weight_codecs import Storage
from edgekit.toolkit.weight_codecs.packed import effective

MLPERF = (
    "mlperf_kws_dscnn",
    "mlperf_ic_resnet8",
    "mlperf_vww_mobilenetv1",
    "mlperf_ad_autoencoder",
    "mlperf_sww_tcn",
)
LAYERS = ("int16", "int16x4", "int16x2", "int2", "huffman")
MODELS = Path(os.environ.get("EDGEKIT_MODELS", Path(__file__).parents[3] / "shared" / "models"))


@pytest.fixture
def ready():
    """Skips a test whose target cannot be built for or run here; returns the Target."""

    def check(name):
        target = targets.load(name)
        for program, package in (
            (target.compiler, target.packages),
            (target.emulator, target.emulator_package),
            ("cmake", "cmake"),
        ):
            if program and not find(program):
                pytest.skip(f"{program} is not installed (package {package})")
        return target

    return check


@pytest.fixture(scope="session")
def model_file(tmp_path_factory, digits):
    """A model by name ("digits", of LAYERS, or of the collection) -> its file and 20 samples."""
    made = {}

    def make(name):
        if name not in made:
            folder = tmp_path_factory.mktemp(name)
            plain = name not in LAYERS
            made[name] = _quantized(name, folder, digits) if plain else _layers(name, folder)
        return made[name]

    return make


def _layers(name, folder):
    """What has weights, on int16 also a product of two activations, on the Precision of this name;
    "huffman" is int8 in a Huffman code.

    Weights of fewer than 8 bits are so where they can be: some in groups.
    """
    precision = PRECISIONS.get(name, W8A8)
    kind, wide = WEIGHT_TYPES[precision.weight_bits], precision.activations == INT16
    rng = np.random.default_rng(0)
    nodes, sizes = [], {"stride": (1, 1), "dilation": (1, 1), "pads": (1, 1, 1, 1), "groups": 1}

    def quant(scale):
        return QuantParams.int16(scale) if wide else QuantParams((256 * scale,), 3)

    def node(op, inputs, scale, **attrs):
        made = Node(op, inputs, [], attrs, f"{op}{len(nodes)}")
        inferred = definition(op).infer(made)[0]
        made.outputs = [Value(made.name, inferred, quant=quant(scale))]
        nodes.append(made)
        return made.output

    def weighted(op, x, shape, **attrs):
        taps = np.prod(shape[1:])
        w = rng.integers(-127, 128, shape).astype(np.int8)
        scales = tuple(rng.uniform(0.3, 1.7, shape[0]) / 90 / np.sqrt(taps))
        reach = 1 << (18 if wide else 10)
        b = rng.integers(-reach, reach, shape[0]).astype(np.int32)
        if kind.bits < 8 and precision in definition(op).precisions:
            attrs["storage"] = Storage(kind.codec)
            w = rng.integers(-kind.limit, kind.limit + 1, shape).astype(np.int8)
            if len(nodes) % 2:
                m = rng.integers(1, 17, (shape[0], -(-taps // 16))).astype(np.uint8)
                attrs["storage"] = Storage(kind.codec, 16, m)
                w = effective(w.reshape(shape[0], -1), 16, m).reshape(shape)
        if name == "huffman":
            attrs["storage"] = Storage("Huffman")
            w = np.clip(np.rint(rng.laplace(0, 9, shape)), -127, 127).astype(np.int8)
        weights = constant(w, f"w{len(nodes)}", QuantParams(scales, axis=0))
        return node(op, [x, weights, constant(b, f"b{len(nodes)}")], 1e-4, **attrs)

    x = image = Value("x", TensorType(precision.activations, (1, 8, 8, 3)), quant=quant(1e-4))
    x = weighted("Conv2d", x, (32, 3, 3, 3), **sizes)
    c = 72 if name == "huffman" else 21  # more than a block of channels
    x = weighted("Conv2d", x, (c, 3, 3, 32), **sizes)  # sums beyond 256 products
    x = weighted("Conv2d", x, (c, 3, 3, 1), **{**sizes, "stride": (2, 2), "groups": c})
    if wide:
        x = weighted("ConvTranspose2d", x, (8, 3, 2, 21), **sizes, output_shape=(4, 3))
        x = node("Reshape", [x], 1e-4, shape=(12, 8))
        x = node("MatMul", [x, x], 2e-4, transpose_b=True)
    x = weighted("FullyConnected", x, (10, x.shape[-1]))
    graph = Graph(nodes, [Port("x", image, 1, image.shape)], [Port("y", x, 1, x.shape)])
    out = folder / "model.edge"
    out.write_bytes(build_file(graph))
    feeds = [{"x": rng.uniform(-3.3, 3.3, image.shape).astype(np.float32)} for _ in range(20)]
    return out, feeds


def _quantized(name, folder, digits):
    import edgekit

    chosen = edgekit.HandOver()
    if name == "digits":
        onnx = digits / "digits.onnx"
        arrays = dict(np.load(digits / "eval.npz"))
        samples = {"image": arrays["image"][:20]}
    elif name == "handed_over":
        onnx = digits / "digits.onnx"
        chosen = edgekit.HandOver({"": "nhwc"}, {"": "uint8"}, {}, {"": "uint8"})
        samples = {"image": dict(np.load(digits / "eval.npz"))["image"][:20]}
    else:
        if not (MODELS / name).is_dir():
            pytest.skip(f"the model collection has no {name} here (set EDGEKIT_MODELS)")
        onnx = MODELS / name / "model.onnx"
        samples = _collection_samples(name)
    out = folder / "model.edge"
    feeds = [{k: v[i : i + 1] for k, v in samples.items()} for i in range(20)]
    edgekit.quantize(onnx, feeds, out, observer="minmax", on_low_accuracy="warn", hand_over=chosen)
    return out, feeds


def _collection_samples(name):
    """The first 20 evaluation samples of a model of the collection, by its loader."""
    import importlib.util
    import warnings

    spec = importlib.util.spec_from_file_location("eval_lib", MODELS / "eval_lib.py")
    library = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(library)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # it leaves files to the collector
        samples = library.load_inputs(str(MODELS / name), "eval")
    return {k: v[:20] for k, v in samples.items()}
