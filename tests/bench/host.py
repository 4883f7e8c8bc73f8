"""Latency on this machine against onnxruntime, float and int8, in one run: ratios, not times.

    python tests/bench/host.py [MODEL ...] [--rounds N] [--json]

A MODEL is a folder with model.onnx and calib.npz (arrays by input name, first axis = samples).
Without one: the demo's network, and the models under $EDGEKIT_MODELS, expanded by its eval_lib.py.
One thread each. Contestants take turns; the best of their rounds counts, because noise only adds.
Needs onnxruntime.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np
import onnxruntime as ort
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    QuantType,
    quant_pre_process,
    quantize_static,
)

import edgekit

ROOT = Path(__file__).parents[2]
SHARED = (
    "mlperf_kws_dscnn",
    "mlperf_ic_resnet8",
    "mlperf_vww_mobilenetv1",
    "mlperf_ad_autoencoder",
    "mlperf_sww_tcn",
    "mobilenet_v1_025_224",
    "ultraface_rfb320",
    "fastestdet",
)
MAX_SAMPLES = 32


class Samples(CalibrationDataReader):
    def __init__(self, feeds):
        self.left = iter(feeds)

    def get_next(self):
        return next(self.left, None)


def feeds_of(path):
    arrays = dict(np.load(path))
    count = min(MAX_SAMPLES, len(next(iter(arrays.values()))))
    return [{k: v[i : i + 1] for k, v in arrays.items()} for i in range(count)]


def ort_session(path):
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def once(feed):
        binding = session.io_binding()
        for name, array in feed.items():
            binding.bind_cpu_input(name, array)
        for output in session.get_outputs():
            binding.bind_output(output.name)
        return lambda: session.run_with_iobinding(binding)

    return once


def ort_int8(model, feeds, folder):
    prepared, made = folder / "prepared.onnx", folder / "int8.onnx"
    try:
        quant_pre_process(str(model), str(prepared), skip_symbolic_shape=True)
        quantize_static(
            str(prepared),
            str(made),
            Samples(feeds),
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            activation_type=QuantType.QInt8,
            weight_type=QuantType.QInt8,
        )
        return ort_session(made)
    except Exception as why:
        print(f"  onnxruntime cannot quantize {model.parent.name}: {why}", file=sys.stderr)
        return None


def edge_session(path):
    session = edgekit.Session(path)

    def once(feed):
        return lambda: session.run_raw(feed)

    return once


def seconds(run, least=0.02):
    """Of one call, over enough calls to last `least` seconds."""
    started, calls = perf_counter(), 0
    while (spent := perf_counter() - started) < least:
        run()
        calls += 1
    return spent / calls


def measure(name, model, calib, rounds):
    feeds = feeds_of(calib)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        edgekit.quantize(model, feeds, folder / "int8.edge", observer="minmax")
        edgekit.convert(model, folder / "float.edge")
        contestants = {
            "edge int8": edge_session(folder / "int8.edge"),
            "edge float": edge_session(folder / "float.edge"),
            "ort int8": ort_int8(model, feeds, folder),
            "ort float": ort_session(model),
        }
        runs = {k: once(feeds[0]) for k, once in contestants.items() if once is not None}
        best = dict.fromkeys(runs, float("inf"))
        for _ in range(rounds):
            for k, run in runs.items():
                best[k] = min(best[k], seconds(run))
    return {"model": name, "microseconds": {k: round(v * 1e6, 2) for k, v in best.items()}}


def models(arguments, folder):
    if arguments:
        for a in map(Path, arguments):
            yield a.name, a / "model.onnx", a / "calib.npz"
        return
    digits = ROOT / "docs/examples/digits"
    yield "digits", digits / "digits.onnx", digits / "calib.npz"
    shared = Path(os.environ.get("EDGEKIT_MODELS", ROOT.parent / "shared/models"))
    for name in SHARED if (shared / "eval_lib.py").exists() else ():
        command = [sys.executable, shared / "eval_lib.py", "expand", shared / name, folder / name]
        subprocess.run(command, check=True)
        yield name, shared / name / "model.onnx", folder / name / "calib.npz"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        for name, model, calib in models(arguments.models, Path(temporary)):
            rows.append(measure(name, model, calib, arguments.rounds))
            t = rows[-1]["microseconds"]
            int8 = t["edge int8"] / t["ort int8"] if "ort int8" in t else float("nan")
            real = t["edge float"] / t["ort float"]
            print(
                f"{name:28} edge/ort int8 {int8:5.2f}  float {real:5.2f}   "
                + "  ".join(f"{k} {v:.1f} us" for k, v in t.items()),
                file=sys.stderr,
            )
    if arguments.json:
        print(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
