"""The tables of accuracy.py: rows to markdown, markdown into docs/benchmarks.md."""

from __future__ import annotations

import tomllib
from pathlib import Path

HERE = Path(__file__).parent
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


MIXED = {
    "model": "---",
    "metric": "---",
    "float": "---:",
    "int8 lost": "---:",
    "mixed": "---:",
    "mixed lost": "---:",
    "met": "---",
    "int8 bytes": "---:",
    "mixed bytes": "---:",
    "on int16": "---:",
    "float32": "---:",
    "seconds": "---:",
}
LEADS = {"model": "---", "metric": "---", "ahead": "---:", "95 %": "---:"}


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
        if any(row["settings"][name].get("mixed") for row in rows):
            titles, cells = MIXED, [mixed_line(row, row["settings"][name]) for row in rows]
        else:
            titles, cells = TITLES, [line(row, row["settings"][name], peers) for row in rows]
        lines += [*_table(titles, cells), ""]
        leads = [c for row in rows if (c := lead_line(row, row["settings"][name]))]
        if leads:
            lines += ["How far onnxruntime is ahead, and 95 % of resamples of the samples:", ""]
            lines += [*_table(LEADS, leads), ""]
    return "\n".join(lines)


def _table(titles, cells):
    return [f"| {' | '.join(found)} |" for found in (titles, titles.values(), *cells)]


def lead_line(row, ours):
    """How far the peer is ahead by the metric, and how far it may be by chance."""
    if not ours.get("onnxruntime_lead"):
        return None
    by, low, high = ours["onnxruntime_lead"]
    unit = loss(row["metric"], 1.0, 1.0)[1]
    return [row["model"], row["metric"], f"{by:+.2f} {unit}", f"{low:+.2f} to {high:+.2f}"]


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


def mixed_line(row, ours):
    """A row of a mix under a budget: what it lost, and what that cost beside int8."""
    start = [row["model"], row["metric"], f"{row['float']:.4f}"]
    if not ours.get("mixed"):
        return [*start, f"not quantized: {ours.get('error', '')}", *[""] * 8]
    found = ours["mixed"]
    more = 100 * (found["bytes"] / found["int8_bytes"] - 1)  # both without provenance
    return [
        *start,
        f"{found['int8_drop'] + 0.0:.2f} {found['unit']}",
        f"{ours['value']:.4f}",
        f"{found['drop'] + 0.0:.2f} {found['unit']}",
        "yes" if found["met"] else "no",
        f"{found['int8_bytes']:,}",
        f"{found['bytes']:,} ({more:+.1f} %)",
        str(found["int16"]),
        str(found["float32"]),
        f"{ours['seconds']:.0f}",
    ]
