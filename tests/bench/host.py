"""Latency on this machine beside other runtimes, int8 and float, in one run: ratios, not times.

    python tests/bench/host.py [MODEL ...] [--seconds N] [--json] [--markdown]

A MODEL is a folder with model.onnx and calib.npz (arrays by input name, first axis = samples), or
one of the names below, from $EDGEKIT_MODELS, read by its eval_lib.py. Without one: the demo's
network, and all of those. --markdown writes the tables into docs/benchmarks.md.

One inference is what a user calls: float arrays in, outputs in the ONNX model's types. Quantizing
the inputs and Python's calls count, on all sides. One process, one thread each. Contestants take
turns in bursts of 2 ms of CPU time; the least of all rounds counts, because noise only adds. Peers
(host_peers.py) join where they are installed; onnxruntime must be.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from textwrap import wrap
from time import perf_counter, process_time

import host_peers
import numpy as np
import onnx
from collection import MODELS, ROOT, eval_lib
from page import write_part

import edgekit
from edgekit.toolkit.build import build_file
from edgekit.toolkit.compress import remove_constant_channels
from edgekit.toolkit.format.model import Provenance
from edgekit.toolkit.pipeline import load
from edgekit.toolkit.quantize import quantize_model

NAMES = {
    "kws": "mlperf_kws_dscnn",
    "ic": "mlperf_ic_resnet8",
    "vww": "mlperf_vww_mobilenetv1",
    "ad": "mlperf_ad_autoencoder",
    "sww": "mlperf_sww_tcn",
    "mobilenet": "mobilenet_v1_025_224",
    "ultraface": "ultraface_rfb320",
    "fastestdet": "fastestdet",
    "selfie": "mediapipe_selfie_segmentation",
    "face_landmark": "mediapipe_face_landmark",
    "crepe_tiny": "crepe_tiny",
    "super_resolution": "super_resolution_x3",
    "minilm": "minilm_l3_sentence",
}
MAX_SAMPLES = 32
CALIBRATION = 4
"""Samples to calibrate with here: speed does not depend on ranges."""
WIDTH = 120
"""Of the document's prose, in columns."""
BURST = 0.002
ROUNDS = 10


def feeds_of(path, most=MAX_SAMPLES):
    arrays = dict(np.load(path))
    count = min(most, len(next(iter(arrays.values()))))
    return [{k: v[i : i + 1] for k, v in arrays.items()} for i in range(count)]


def shapes_of(model, feed):
    """Those of inputs that leave more than the batch open, as the samples have them."""
    fixed = {
        i.name: all(d.dim_value > 0 for d in i.type.tensor_type.shape.dim[1:])
        for i in onnx.load(str(model), load_external_data=False).graph.input
    }
    return {name: array.shape for name, array in feed.items() if not fixed[name]}


def ours(model, feeds, folder):
    """This project's contestants, by name."""
    shapes = shapes_of(model, feeds[0])
    graph = load(model, shapes, finite=True)
    made = quantize_model(graph, feeds, "minmax", rounding="nearest").graph
    kept = remove_constant_channels(made)
    (folder / "int8.edge").write_bytes(build_file(made, Provenance(), kept))
    edgekit.convert(model, folder / "float.edge", shapes=shapes)
    for kind in ("int8", "float"):
        session = edgekit.Session(folder / f"{kind}.edge")
        yield f"{kind} edgekit", lambda s=session: s.run(feeds[0])


def burst(run, calls):
    """CPU seconds of one of so many calls."""
    started = process_time()
    for _ in range(calls):
        run()
    return (process_time() - started) / calls


def measure(name, model, calib, seconds):
    feeds = feeds_of(calib, CALIBRATION)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        runs = dict(ours(model, feeds, folder)) | host_peers.all_of(model, feeds, folder)
        best = {k: min(burst(run, 1) for _ in range(3)) for k, run in runs.items()}
        started, rounds = perf_counter(), 0
        while rounds < ROUNDS or perf_counter() - started < seconds:
            for k, run in runs.items():
                best[k] = min(best[k], burst(run, max(1, int(BURST / best[k]))))
            rounds += 1
    return {"model": name, "microseconds": {k: round(v * 1e6, 2) for k, v in best.items()}}


def ratios(row, kind):
    """Time of edgekit over that of each peer; onnxruntime's is the better of its two int8."""
    times = {k.split()[1]: [] for k in row["microseconds"] if k.startswith(f"{kind} ")}
    for k, t in row["microseconds"].items():
        if k.startswith(f"{kind} "):
            times[k.split()[1]].append(t)
    own = min(times.pop("edgekit"))
    return own, {peer: own / min(found) for peer, found in times.items()}


def models(names, folder):
    """(name, ONNX file, samples) of each."""
    if not names:
        digits = ROOT / "docs/examples/digits"
        yield "digits (the demo)", digits / "digits.onnx", digits / "calib.npz"
    if not names and not (MODELS / "eval_lib.py").exists():
        return
    for name in names or NAMES:
        if name not in NAMES:
            yield Path(name).name, Path(name) / "model.onnx", Path(name) / "calib.npz"
            continue
        path, samples = MODELS / NAMES[name], folder / f"{name}.npz"
        np.savez(samples, **eval_lib().load_inputs(str(path), "calib"))
        yield name, path / "model.onnx", samples


def markdown(rows):
    """A table of int8 and one of float, and where a peer is faster."""
    versions = ", ".join(f"{p} {v}" for p, v in host_peers.versions().items())
    lines = [f"Measured with {versions}."]
    for kind in ("int8", "float"):
        peers = list(dict.fromkeys(p for row in rows for p in ratios(row, kind)[1]))
        lines += ["", f"| {' | '.join([f'{kind}, edgekit /', *peers, 'edgekit, us'])} |"]
        lines += [f"| --- |{' ---: |' * (len(peers) + 1)}"]
        slower = []
        for row in rows:
            own, found = ratios(row, kind)
            cells = [f"{found[p]:.2f}" if p in found else "" for p in peers]
            lines.append(f"| {' | '.join([row['model'], *cells, f'{own:,.1f}'])} |")
            slower += [f"{row['model']} ({p} {r:.2f})" for p, r in found.items() if r >= 1.005]
        told = f"A peer is faster in {kind}: {', '.join(slower) or 'nowhere'}."
        lines += ["", *wrap(told, WIDTH, break_on_hyphens=False)]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--seconds", type=float, default=10.0, help="to measure each model for")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--markdown", action="store_true", help="write into the document")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        for name, model, calib in models(arguments.models, Path(temporary)):
            with redirect_stdout(sys.stderr):  # peers talk, and stdout is for the figures
                rows.append(measure(name, model, calib, arguments.seconds))
            told = "  ".join(f"{k} {v:.1f}" for k, v in rows[-1]["microseconds"].items())
            print(f"{name}, us: {told}", file=sys.stderr, flush=True)
    if arguments.markdown:
        write_part("host.py", markdown(rows))
    print(json.dumps(rows, indent=2) if arguments.json else markdown(rows))


if __name__ == "__main__":
    main()
