"""How far onnxruntime is from the C runtime on what `edgekit export` writes.

The table of docs/quantized-models.md.

    python tests/bench/exported.py [--models kws,ic] [--default]

Every model of the collection is quantized (as output_hashes.py does), exported and run by both on
evaluation samples. A row gives the values compared, the share that is equal and within one step of
the output's scale, and the largest difference in steps; or why the model is not exported. Outputs
that are float32 in the file count in 1/256 of their largest value.
The models come from $EDGEKIT_MODELS, read by its eval_lib.py.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
from output_hashes import MODELS, QUICK, SAMPLES

import edgekit
from edgekit.calibration import CalibrationError
from edgekit.toolkit.onnx_export import export

HEAD = "| model | values | equal | within a step | largest, in steps |\n|---|---|---|---|---|"


def differences(edge, onnx, arrays):
    """The distance of each output value of onnxruntime from ours, in steps of that output."""
    session, off = edgekit.Session(edge), []
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    judge = onnxruntime.InferenceSession(onnx, options)
    for i in range(min(SAMPLES, *(len(arrays[io.name]) for io in session.inputs))):
        feed = {io.name: np.asarray(arrays[io.name][i]).reshape(io.shape) for io in session.inputs}
        ours = session.run(feed)
        theirs = judge.run([io.name for io in session.outputs], feed)
        for io, got in zip(session.outputs, theirs, strict=True):
            step = io.scale or np.abs(ours[io.name]).max() / 256 or 1.0
            off.append(np.rint(np.abs(got - ours[io.name]).ravel() / step))
    return np.concatenate(off)


def row(name, how):
    """The model's line of the table."""
    with tempfile.TemporaryDirectory() as folder:
        expand = [sys.executable, MODELS / "eval_lib.py", "expand", MODELS / name, folder]
        subprocess.run(expand, check=True, stdout=subprocess.DEVNULL)
        edge = Path(folder) / "model.edge"
        edgekit.quantize(MODELS / name / "model.onnx", Path(folder) / "calib.npz", edge, **how)
        onnx = export(edge, Path(folder) / "qdq.onnx").output
        with np.load(Path(folder) / "eval.npz") as arrays:
            off = differences(edge, onnx, dict(arrays))
    share = [f"{100 * np.mean(off <= most):.3f} %" for most in (0, 1)]
    return f"{off.size:,} | {share[0]} | {share[1]} | {off.max():g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", help="names of folders, or their parts, with commas between")
    parser.add_argument("--default", action="store_true", help="default settings, all samples")
    given = parser.parse_args()
    wanted = given.models.split(",") if given.models else [""]
    print(HEAD, flush=True)
    for folder in sorted(MODELS.iterdir()):
        if not (folder / "model.onnx").exists() or not any(w in folder.name for w in wanted):
            continue
        try:
            line = row(folder.name, {} if given.default else QUICK)
        except (edgekit.UserError, CalibrationError) as error:
            line = f"| | | {str(error).splitlines()[0]}"
        print(f"| {folder.name} | {line} |", flush=True)


if __name__ == "__main__":
    main()
