"""What models cost on emulated devices, beside other runtimes: the table of docs/benchmarks.md.

    python tests/bench/devices.py [--models kws,ic] [--targets cortex_m4,...] [--json] [--markdown]
    python tests/bench/devices.py --full-kws

Every model is quantized with its calibration samples, built for every target and run on 20
evaluation samples; the outputs are compared with this machine's byte for byte. Instructions are
those of one inference. --markdown writes the tables into docs/benchmarks.md, --json prints them;
peers.toml has the figures of others. The models come from $EDGEKIT_MODELS, read by its eval_lib.py.
--full-kws runs the whole evaluation set of keyword spotting on AArch64 instead.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import tomllib
from pathlib import Path
from time import perf_counter

import numpy as np
from collection import MODELS, eval_lib
from page import write_part

import edgekit
from edgekit import targets
from edgekit.toolkit.device.bench import cost
from edgekit.toolkit.device.emulate import Device

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TINY = {
    "ad": "mlperf_ad_autoencoder",
    "kws": "mlperf_kws_dscnn",
    "vww": "mlperf_vww_mobilenetv1",
    "ic": "mlperf_ic_resnet8",
    "sww": "mlperf_sww_tcn",
}
LARGE = {"mobilenet": "mobilenet_v1_025_224"}
NAMES = {**TINY, **LARGE}
ARM = ("aarch64_linux", "armv7_linux", *(n for n in targets.names() if n.startswith("cortex_m")))
SAMPLES = 20


def say(*words):
    print(*words, file=sys.stderr, flush=True)


class Collection:
    """Models of the collection, quantized when first asked for."""

    def __init__(self, folder):
        self.library = eval_lib()
        self.folder = folder
        self.made = {}

    def feeds(self, name, split, limit=None):
        arrays = self.library.load_inputs(str(MODELS / name), split)
        count = min(limit or len(a) for a in arrays.values())
        return [{k: v[i : i + 1] for k, v in arrays.items()} for i in range(count)]

    def labels(self, name):
        return self.library.load_labels(str(MODELS / name))["y"]

    def edge(self, name):
        if name not in self.made:
            started = perf_counter()
            path = self.folder / f"{name}.edge"
            edgekit.quantize(MODELS / name / "model.onnx", self.feeds(name, "calib"), path)
            self.made[name] = path
            say(f"{name}: quantized in {perf_counter() - started:.0f} s")
        return self.made[name]


def same_bytes(session, feeds, answers):
    """On how many samples the device's outputs are this machine's."""
    same = 0
    for feed, got in zip(feeds, answers, strict=True):
        wanted = list(session.run_raw(feed).values())
        same += all(np.array_equal(a, b) for a, b in zip(got, wanted, strict=True))
    return same


def measure(collection, short, target, cpu):
    """A row: what `edgekit bench --json` tells, the samples with equal bytes, and the peers."""
    name = NAMES[short]
    path, feeds = collection.edge(name), collection.feeds(name, "eval", SAMPLES)
    session = edgekit.Session(path)
    with Device(path.read_bytes(), target, cpu) as device:
        ran = device.run([session.to_raw(feed) for feed in feeds], count=True)
        row = cost(device, ran).to_json()
    row["model"] = short
    row["samples"], row["equal"] = len(feeds), same_bytes(session, feeds, ran.outputs)
    row["peers"] = {
        peer: {**told, "ratio": round(row["instructions_per_inference"] / told["instructions"], 3)}
        for peer, told in peers_of(target.name, cpu, name)
    }
    return row


def peers_of(target, cpu, model):
    place = f"{target} {cpu}" if cpu else target
    for peer in tomllib.loads((HERE / "peers.toml").read_text())["peer"]:
        told = peer["target"].get(place, {}).get(model)
        if told:
            yield peer["name"], told


def rows_of(collection, models, names):
    """Rows target by target, told on stderr as they come."""
    for name in names:
        target = targets.load(name)
        for cpu in target.cpus or (None,):
            for short in models:
                if short in LARGE and name != "aarch64_linux":
                    continue
                row = measure(collection, short, target, cpu)
                told = "  ".join(f"{p['ratio']:.2f} of {n}" for n, p in row["peers"].items())
                say(
                    f"{name} {cpu or '':12} {short:9} {row['instructions_per_inference']:>12,} "
                    f"({row['instructions_per_mac']:.3f}/MAC)  same bytes {row['equal']}/"
                    f"{row['samples']}  {told}"
                )
                yield row


def markdown(rows):
    """The summary of ratios, then a table for every target."""
    places = list(dict.fromkeys((r["target"], r["cpu"]) for r in rows))
    models = list(dict.fromkeys(r["model"] for r in rows))
    peers = sorted({p for r in rows for p in r["peers"]})
    lines = ["Instructions against each peer (below 1: fewer than the peer):", ""]
    lines += header(["target", "peer", *models])
    for target, cpu in places:
        here = {r["model"]: r for r in rows if (r["target"], r["cpu"]) == (target, cpu)}
        for peer in (p for p in peers if any(p in r["peers"] for r in here.values())):
            ratios = [
                f"{here[m]['peers'][peer]['ratio']:.2f}"
                if m in here and peer in here[m]["peers"]
                else ""
                for m in models
            ]
            lines.append(line([place(target, cpu), peer, *ratios]))
    for target, cpu in places:
        lines += ["", f"### {place(target, cpu)}", ""]
        lines += table_of([r for r in rows if (r["target"], r["cpu"]) == (target, cpu)])
    return "\n".join(lines)


def table_of(rows):
    bare = targets.load(rows[0]["target"]).bare_metal
    peers = list(dict.fromkeys(p for r in rows for p in r["peers"]))
    columns = ["model", "MACs", "instructions", "per MAC", *peers, "arena", "session"]
    columns += ["stack"] if bare else []
    lines = header([*columns, "text", "rodata", "model file", "same bytes"])
    for r in rows:
        cells = [r["model"], r["macs"], r["instructions_per_inference"]]
        cells += [f"{r['instructions_per_mac']:.3f}"]
        cells += [r["peers"].get(p, {}).get("instructions", "") for p in peers]
        arena = [p["arena"] for p in r["peers"].values() if "arena" in p]
        cells += [f"{r['arena_bytes']:,}" + "".join(f" (peer {a:,})" for a in arena)]
        cells += [r["session_bytes"]] + ([r["stack_bytes"]] if bare else [])
        flash = [p["flash"] for p in r["peers"].values() if "flash" in p]
        cells += [f"{r['flash']['text']:,}" + "".join(f" (peer {f:,})" for f in flash)]
        cells += [r["flash"]["rodata"], r["flash"]["model"], f"{r['equal']} of {r['samples']}"]
        lines.append(line(cells))
    return lines


def place(target, cpu):
    return f"{target}, {cpu}" if cpu else target


def header(columns):
    left = {"target", "peer", "model"}
    return [line(columns), line(["---" if c in left else "---:" for c in columns])]


def line(cells):
    return "| " + " | ".join(f"{c:,}" if isinstance(c, int) else str(c) for c in cells) + " |"


def full_kws(collection):
    """Every evaluation sample of keyword spotting on AArch64: bytes, and top-1 on both sides."""
    name, target = TINY["kws"], targets.load("aarch64_linux")
    path, feeds = collection.edge(name), collection.feeds(name, "eval")
    session, labels = edgekit.Session(path), collection.labels(name)
    host = [next(iter(session.run_raw(feed).values())).argmax() for feed in feeds]
    result = {"samples": len(feeds), "host_top1": float(np.mean(host == labels)), "devices": []}
    for cpu in target.cpus:
        with Device(path.read_bytes(), target, cpu) as device:
            answers = device.run([session.to_raw(feed) for feed in feeds]).outputs
        top1 = float(np.mean([a[0].argmax() for a in answers] == labels))
        equal = same_bytes(session, feeds, answers)
        result["devices"].append({"cpu": cpu, "top1": top1, "equal": equal})
        say(f"{cpu}: top-1 {top1:.4f}, same bytes {equal}/{len(feeds)}")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=",".join(NAMES), help="of " + ", ".join(NAMES))
    parser.add_argument("--targets", default=",".join(ARM))
    parser.add_argument("--json", action="store_true", help="print the figures")
    parser.add_argument("--markdown", action="store_true", help="write them into the document")
    parser.add_argument("--full-kws", action="store_true")
    arguments = parser.parse_args()
    if not (MODELS / "eval_lib.py").exists():
        sys.exit(f"no model collection at {MODELS}: set EDGEKIT_MODELS")
    with tempfile.TemporaryDirectory() as folder:
        collection = Collection(Path(folder))
        if arguments.full_kws:
            found = full_kws(collection)
            wrong = any(d["equal"] != found["samples"] for d in found["devices"])
        else:
            models, names = arguments.models.split(","), arguments.targets.split(",")
            found = list(rows_of(collection, models, names))
            wrong = any(r["equal"] != r["samples"] for r in found)
            if arguments.markdown:
                write_part("devices.py", markdown(found))
    if arguments.json:
        print(json.dumps(found, indent=2))
    if wrong:
        sys.exit("a device answered with other bytes than this machine")


if __name__ == "__main__":
    main()
