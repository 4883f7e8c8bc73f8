"""Other runtimes as contestants of host.py: one thread, from the user's arrays to outputs.

A contestant is a function without arguments that makes one inference of a sample. Each peer gets
its fastest setting that we know of. onnxruntime is needed; OpenVINO (`pip install openvino nncf`)
and LiteRT (`pip install ai-edge-litert`) join where they are installed.
"""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import onnxruntime as ort
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    QuantType,
    quant_pre_process,
    quantize_static,
)

PACKAGES = ("onnxruntime", "openvino", "nncf", "ai-edge-litert")


def versions():
    """Those of the peers that are installed."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


class Samples(CalibrationDataReader):
    def __init__(self, feeds):
        self.left = iter(feeds)

    def get_next(self):
        return next(self.left, None)


def ort_int8(model, feeds, path, activations=QuantType.QInt8):
    """Whether onnxruntime's static quantization (QDQ, per channel) of `model` made `path`."""
    prepared = path.with_name("prepared.onnx")
    try:
        quant_pre_process(str(model), str(prepared), skip_symbolic_shape=True)
        quantize_static(
            str(prepared),
            str(path),
            Samples(feeds),
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            activation_type=activations,
            weight_type=QuantType.QInt8,
        )
    except Exception as why:
        print(f"  onnxruntime cannot quantize {model.parent.name}: {why}", file=sys.stderr)
        return False
    return True


def ort_run(path, feed):
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, feed)


def onnxruntime(model, feeds, folder):
    """Its float model, and int8 with activations of either sign: x86 is faster with u8s8."""
    yield "float onnxruntime", ort_run(model, feeds[0])
    for name, sign in (("u8s8", QuantType.QUInt8), ("s8s8", QuantType.QInt8)):
        path = folder / f"{name}.onnx"
        if ort_int8(model, feeds, path, sign):
            yield f"int8 onnxruntime {name}", ort_run(path, feeds[0])


def openvino(model, feeds, folder):
    """Its float model in float32, and int8 by NNCF's defaults, for transformers those of such."""
    import nncf
    import openvino as ov

    core = ov.Core()
    once = {
        "INFERENCE_NUM_THREADS": 1,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
    }
    read = core.read_model(str(model))
    read.reshape({name: list(array.shape) for name, array in feeds[0].items()})
    tokens = all(array.dtype.kind in "iu" for array in feeds[0].values())
    kind = nncf.ModelType.TRANSFORMER if tokens else None
    int8 = nncf.quantize(read, nncf.Dataset(feeds), subset_size=len(feeds), model_type=kind)
    for name, network in (("float", read), ("int8", int8)):
        request = core.compile_model(network, "CPU", once).create_infer_request()
        yield f"{name} OpenVINO", lambda r=request: r.infer(feeds[0], share_inputs=True)


def litert(model, feeds, _):
    """The float and the int8 .tflite beside the ONNX model, where there are any: MLPerf Tiny's."""
    from ai_edge_litert.interpreter import Interpreter

    for path in sorted(model.parent.glob("*.tflite")):
        interpreter = Interpreter(model_path=str(path), num_threads=1)
        interpreter.allocate_tensors()
        (x,), outputs = interpreter.get_input_details(), interpreter.get_output_details()
        (array,) = feeds[0].values()
        array, (scale, zero) = array.reshape(x["shape"]), x["quantization"]

        def once(net=interpreter, x=x, outputs=outputs, array=array, scale=scale, zero=zero):
            if x["dtype"] == np.int8:
                array = np.clip(np.rint(array * (1 / scale) + zero), -128, 127).astype(np.int8)
            net.set_tensor(x["index"], array)
            net.invoke()
            return [net.get_tensor(y["index"]) for y in outputs]

        yield f"{'int8' if x['dtype'] == np.int8 else 'float'} LiteRT", once


def all_of(model: Path, feeds, folder: Path):
    """{name: contestant} of all that are installed and can run the model."""
    found = {}
    for peer in (onnxruntime, openvino, litert):
        try:
            found |= peer(model, feeds, folder)
        except ImportError as why:
            print(f"  {peer.__name__} is not installed: {why}", file=sys.stderr)
        except Exception as why:
            print(f"  {peer.__name__} cannot run {model.parent.name}: {why}", file=sys.stderr)
    return found
