"""The tables of accuracy.py: rows to markdown, markdown into docs/benchmarks.md."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "benchmarks.md"
BEGIN, END = "<!-- accuracy.py: begin -->", "<!-- accuracy.py: end -->"
UNITS = {"top1": "points", "psnr": "dB", "mae_vs_float": "px", "r2": "points"}
LOWER_IS_BETTER = ("mae_vs_float", "mse", "cer", "max_abs_err")
TITLES = {
    "model": "---",
    "metric": "---",
    "float": "---:",
    "edgekit": "---:",
    "onnxruntime": "---:",
    "best other peer": "---",
    "same class": "---:",
    "SQNR, dB": "---:",
    "onnxruntime's SQNR": "---:",
    "bytes": "---:",
    "onnxruntime's bytes": "---:",
    "float operators": "---",
    "seconds": "---:",
}


def loss(metric, real, value):
    """What was lost, positive for worse, in the metric's unit: points, dB, px, or % of float."""
    lost = value - real if metric in LOWER_IS_BETTER else real - value
    unit = UNITS.get(metric, "%")
    if unit == "%":
        return 100 * lost / abs(real), unit
    return (100 * lost if unit == "points" else lost), unit


def cell(row, found):
    """value (loss)"""
    if found is None or "error" in found:
        return ""
    lost, unit = loss(row["metric"], row["float"], found["value"])
    return f"{found['value']:.4f} ({lost + 0.0:+.2f} {unit})"


def db(found):
    return f"{found['sqnr_db']:.1f}" if found and found.get("sqnr_db") is not None else ""


def markdown(rows, settings):
    peers = tomllib.loads((HERE / "accuracy_peers.toml").read_text())["best"]
    lines = []
    for name, options in settings.items():
        lines += [
            f"### {name}",
            "",
            f"    edgekit quantize MODEL.onnx --calib calib.npz {options}".rstrip(),
            "",
        ]
        lines += [f"| {' | '.join(TITLES)} |", f"| {' | '.join(TITLES.values())} |"]
        for row in rows:
            lines.append(f"| {' | '.join(line(row, row['settings'][name], peers))} |")
        lines.append("")
    return "\n".join(lines)


def line(row, ours, peers):
    ort = row["onnxruntime"]
    peer = peers.get(row["folder"], "")
    start = [row["model"], row["metric"], f"{row['float']:.4f}"]
    if "error" in ours:
        return [*start, f"not quantized: {ours['error']}", cell(row, ort), peer, *[""] * 7]
    same = f"{100 * ours['agreement']:.1f} %" if "agreement" in ours else ""
    return [
        *start,
        cell(row, ours),
        cell(row, ort),
        peer,
        same,
        db(ours),
        db(ort),
        f"{ours['bytes']:,}",
        f"{ort['bytes']:,}" if "bytes" in ort else "",
        " ".join(f"{n} {op}" for op, n in ours["float_operators"].items()),
        f"{ours['seconds']:.0f}",
    ]


def write_markdown(text):
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        sys.exit(f"{PAGE}: has no lines '{BEGIN}' and '{END}' to write between")
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")
