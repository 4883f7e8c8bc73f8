"""Which figure that needs no labels predicts what a quantized model loses by its metric.

    python tests/bench/predictors.py [MODEL ...] [--markdown]

Every MODEL is quantized with several settings, from the default to nearest weights of 4 bits. All
figures are of its evaluation samples: those of `edgekit check` (quality), the cosine and the rank
correlation of its outputs and the float model's, and the loss by the collection's own metric.
--markdown writes the rows and the rank correlation of each figure with the loss into
docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from accuracy import EDGEKIT, Model, quantize
from accuracy_table import loss
from collection import eval_lib
from page import write_part
from scipy.stats import spearmanr

MODELS = ("kws", "ic", "vww", "sww", "mnist", "digits_mlp", "mobilenet", "ad", "mtcnn_onet")
SETTINGS = {
    "default": "",
    "nearest": "--observer minmax --rounding nearest --on-low-accuracy warn",
    "int4": "--weights int4 --on-low-accuracy warn",
    "int4, nearest": "--weights int4 --observer minmax --rounding nearest --on-low-accuracy warn",
}
FIGURES = {
    "db": "SQNR, worst output",
    "cosine": "cosine of the outputs",
    "rank": "rank correlation of the outputs",
    "changed": "changed answers",
    "expected": "expected loss",
}


def check(model):
    """What `edgekit check --json` says of the file on the evaluation samples."""
    model.fill("{eval}")
    words = ["check", model.folder / "quantized.edge", "--float", model.onnx]
    words += ["--data", model.eval, "--json"]
    done = subprocess.run([*EDGEKIT, *map(str, words)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout[done.stdout.index("{") :])["quality"]


def alike(truth, answers):
    """(cosine, rank correlation) of the outputs, the worst of them, averaged over samples."""
    cosines, ranks = [], []
    for a, b in zip(truth, answers, strict=True):
        a, b = (np.asarray(x, np.float64).reshape(len(a), -1) for x in (a, b))
        if a.shape[1] < 2:
            continue
        sizes = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
        cosines.append(float(np.mean(np.sum(a * b, axis=1) / np.maximum(sizes, 1e-30))))
        if a.shape[1] > 2:
            ranks.append(float(np.mean([spearmanr(x, y)[0] for x, y in zip(a, b, strict=True)])))
    return min(cosines, default=None), min(ranks, default=None)


def row(model, name, setting):
    """One line: figures and loss of a model with a setting; None where that is refused."""
    if "error" in quantize(model, SETTINGS[setting]):
        return None
    quality = check(model)
    answers = quality["answers"] or {"changed": None, "expected": None}
    real, truth = model.score(model.library.ort_run(str(model.directory)))
    figures, got = model.score(model.edge(model.folder / "quantized.edge"))
    metric = next(iter(real))
    lost, unit = loss(metric, real[metric], figures[metric])
    cosine, rank = alike(truth, got)
    return {
        "model": name, "setting": setting, "verdict": quality["level"],
        "db": min(quality["sqnr_db"].values(), default=None), "cosine": cosine, "rank": rank,
        "changed": answers["changed"], "expected": answers["expected"],
        "lost": lost, "relative": 100 * (real[metric] - figures[metric]) / abs(real[metric]),
        "unit": unit,
    }  # fmt: skip


def predicts(rows, figure):
    """(rank correlation of a figure with the relative loss, on how many rows)."""
    known = [(r[figure], r["relative"]) for r in rows if r[figure] is not None]
    if len(known) < 3:
        return None, len(known)
    a, b = np.array(known).T
    return abs(float(spearmanr(a, b)[0])), len(known)


def tables(rows):
    def shown(value, form):
        return "" if value is None else format(value, form)

    head = ["model", "setting", "verdict", "SQNR, dB", "cosine", "rank", "changed", "expected",
            "metric lost"]  # fmt: skip
    lines = [head, ["---"] * 3 + ["---:"] * 6]
    for r in rows:
        lines.append(
            [r["model"], r["setting"], r["verdict"], shown(r["db"], ".1f"),
             shown(r["cosine"], ".4f"), shown(r["rank"], ".3f"), shown(r["changed"], ".1%"),
             shown(r["expected"], ".2%"),
             f"{r['lost']:.2f} {r['unit']}".strip()]
        )  # fmt: skip
    told = [["figure", "rank correlation with the loss", "rows"], ["---", "---:", "---:"]]
    for figure, words in FIGURES.items():
        value, count = predicts(rows, figure)
        told.append([words, shown(value, ".2f"), str(count)])
    as_text = ["\n".join(f"| {' | '.join(line)} |" for line in some) for some in (lines, told)]
    return "\n\n".join(as_text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="*")
    parser.add_argument("--markdown", action="store_true", help="write docs/benchmarks.md")
    given = parser.parse_args()
    library, rows = eval_lib(), []
    for name in given.models or MODELS:
        with tempfile.TemporaryDirectory() as folder:
            model = Model(library, name, Path(folder))
            for setting in SETTINGS:
                found = row(model, name, setting)
                if found is not None:
                    rows.append(found)
                    print(json.dumps(found), flush=True)
    text = tables(rows)
    print(text)
    if given.markdown:
        write_part("predictors.py", text)


if __name__ == "__main__":
    main()
