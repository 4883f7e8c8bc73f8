"""What compression of weights takes and costs: the table of docs/compression.md.

    python tests/bench/compression.py [MODEL ...] [--setting "NAME: OPTIONS"]... [--target NAME]...
    python tests/bench/compression.py kws --setting "16 kB: --compress small --max-bytes 16000"

Each MODEL (the five of MLPerf Tiny and mobilenet by default) is quantized by `edgekit quantize`
with its calibration samples, once per setting, and scored on its evaluation samples: the metric of
the collection, the SQNR of the outputs against the float model's, the bytes of the file with
--strip. --target counts the instructions of one inference on that target's emulator, decoding
included. Where ethos-u-vela (PyPI) can be imported, the integers of each layer are coded by its
weight codec as well. Models come from $EDGEKIT_MODELS. Every command is printed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import accuracy
from collection import MODELS, eval_lib

from edgekit.toolkit.format.reader import read
from edgekit.toolkit.format.schema import OpKind
from edgekit.toolkit.weight_codecs import stored_int8

try:
    from ethosu import mlw_codec
except ImportError:
    mlw_codec = None

WEIGHTED = (OpKind.Conv2d, OpKind.FullyConnected)
SETTINGS = {
    "int8": "",
    "int4": "--weights int4",
    "int4, code": "--weights int4 --compress small",
    "balanced": "--compress balanced",
    "small": "--compress small",
}
TINY = ("kws", "ic", "vww", "sww", "ad")


def instructions(path, target):
    """Those of one inference on `target`, decoding of weights included."""
    command = [*accuracy.EDGEKIT, "bench", str(path), "--target", target, "--json"]
    accuracy.say(f"edgekit bench {path.name} --target {target}")
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout[done.stdout.index("{") :])["instructions_per_inference"]


def weights_of(path):
    """The int8 weights of each layer, flat."""
    file = read(path.read_bytes())
    for op in file.ops:
        if op.kind in WEIGHTED:
            yield stored_int8(op.kind, op.params, file.blob)


def by_vela(path):
    """Bytes that weights take in the codec of ethos-u-vela, or None without it."""
    if mlw_codec is None:
        return None
    return sum(len(mlw_codec.encode(w.tolist())) for w in weights_of(path))


def by_us(path, layers):
    """Bytes that weights take in the file; `layers` are those behind codecs."""
    plain = sum(w.size for w in weights_of(path)) - sum(s["weights"] for s in layers)
    return plain + sum(s["stored"] for s in layers)


def measure(model, settings, targets):
    """One row for each setting."""
    figures, truth = model.score(model.library.ort_run(str(model.directory)))
    metric = next(iter(figures))
    for name, options in settings.items():
        said = accuracy.quantize(model, f"{options} --strip")
        if "error" in said:
            sys.exit(f"{model.name}, {name}: {said['error']}")
        path = Path(said["output"])
        found, outputs = model.score(model.edge(path))
        yield {
            "model": model.name,
            "setting": name,
            "metric": metric,
            "float": figures[metric],
            "edge": found[metric],
            "sqnr_db": accuracy.compared(truth, outputs, model.scored, metric).get("sqnr_db"),
            "held_out_db": said["sqnr_db"],
            "bytes": path.stat().st_size,
            "weights": by_us(path, said["layers_stored"]),
            "vela": by_vela(path),
            "instructions": {t: instructions(path, t) for t in targets},
        }


def markdown(rows, targets):
    """The table, and for each setting the bytes of the five models together."""
    lines = [
        "| model | setting | metric | float | edge | SQNR, dB | bytes | weights | by Vela | "
        + "".join(f"instructions on {t} | " for t in targets),
        "|---|---|---|---:|---:|---:|---:|---:|---:|" + "---:|" * len(targets),
    ]
    for r in rows:
        counts = "".join(f" {r['instructions'][t]:,} |" for t in targets)
        lines.append(
            f"| {r['model']} | {r['setting']} | {r['metric']} | {r['float']:.4f} | "
            f"{r['edge']:.4f} | {r['sqnr_db']:.1f} | {r['bytes']:,} | {r['weights']:,} | "
            f"{'' if r['vela'] is None else format(r['vela'], ',')} |{counts}"
        )
    for name in dict.fromkeys(r["setting"] for r in rows):
        sizes = [r["bytes"] for r in rows if r["setting"] == name and r["model"] in TINY]
        if len(sizes) == len(TINY):
            lines.append(f"\n{name}: {sum(sizes):,} bytes together")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", help="default: all six")
    parser.add_argument("--setting", type=accuracy.setting, action="append")
    parser.add_argument("--target", action="append", default=[], metavar="TARGET")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if not (MODELS / "eval_lib.py").exists():
        sys.exit(f"no model collection at {MODELS}: set EDGEKIT_MODELS")
    library, settings = eval_lib(), dict(arguments.setting or SETTINGS)
    rows = []
    for name in arguments.models or (*TINY, "mobilenet"):
        with tempfile.TemporaryDirectory() as folder:
            model = accuracy.Model(library, name, Path(folder))
            rows += measure(model, settings, arguments.target)
    print(json.dumps(rows, indent=2) if arguments.json else markdown(rows, arguments.target))


if __name__ == "__main__":
    main()
