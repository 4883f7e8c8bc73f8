"""What quantized models answer, as hashes: to tell that a change of edgekit changes no integer.

    python tests/bench/output_hashes.py [--models kws,ic] [--default] > before.txt

Every model of the collection is quantized with 8 of its calibration samples, min-max ranges and
the nearest weights (or, with --default, the default settings and all samples); a line gives the
SHA-256 of its raw outputs on 20 evaluation samples, and the bytes of the file. Run it with both
versions and compare: the hashes say whether the integers are the same, the bytes what the file
costs. The models come from $EDGEKIT_MODELS, read by its eval_lib.py.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import edgekit
from edgekit.calibration import CalibrationError

ROOT = Path(__file__).parents[2]
MODELS = Path(os.environ.get("EDGEKIT_MODELS", ROOT.parent / "shared" / "models"))
SAMPLES = 20
QUICK = {"observer": "minmax", "rounding": "nearest", "limit": 8, "on_low_accuracy": "warn"}
"""Versions without a floor of accuracy (before 812026d) have no on_low_accuracy: leave it out."""


def answers(edge, arrays):
    """SHA-256 of the outputs, as the runtime holds them, on the first samples of `arrays`."""
    session = edgekit.Session(edge)
    names = [io.name for io in session.inputs]
    found = hashlib.sha256()
    for i in range(min(SAMPLES, *(len(arrays[name]) for name in names))):
        feed = {io.name: np.asarray(arrays[io.name][i]).reshape(io.shape) for io in session.inputs}
        for out in session.run_raw(feed).values():
            found.update(np.ascontiguousarray(out).tobytes())
    return found.hexdigest()[:16]


def hashed(name, how):
    with tempfile.TemporaryDirectory() as folder:
        expand = [sys.executable, MODELS / "eval_lib.py", "expand", MODELS / name, folder]
        subprocess.run(expand, check=True, stdout=subprocess.DEVNULL)
        edge = Path(folder) / "model.edge"
        edgekit.quantize(MODELS / name / "model.onnx", Path(folder) / "calib.npz", edge, **how)
        with np.load(Path(folder) / "eval.npz") as arrays:
            return f"{answers(edge, dict(arrays))} {edge.stat().st_size:>9}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", help="names of folders, or their parts, with commas between")
    parser.add_argument("--default", action="store_true", help="default settings, all samples")
    given = parser.parse_args()
    wanted = given.models.split(",") if given.models else [""]
    for path in sorted(MODELS.glob("*/model.onnx")):
        name = path.parent.name
        if not any(part in name for part in wanted):
            continue
        try:
            print(f"{name:32} {hashed(name, {} if given.default else QUICK)}", flush=True)
        except (edgekit.UserError, CalibrationError) as why:
            print(f"{name:32} {str(why).splitlines()[0][:80]}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
