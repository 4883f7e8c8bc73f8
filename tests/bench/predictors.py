"""Which figure that needs no labels predicts what a quantized model loses by its metric.

    python tests/bench/predictors.py [MODEL ...] [--markdown]

Every MODEL is quantized with several settings, from the default to nearest weights of 4 bits. All
figures are of its evaluation samples: those of `edgekit check` (quality), the cosine and the rank
correlation of its outputs and the float model's, and the loss by the collection's own metric.
--markdown writes the rows and the rank correlation of each figure with the loss into
docs/benchmarks.md, which takes an hour.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from accuracy import DEFAULT, EDGEKIT, EXIT_BUDGET, Model, quantize
from accuracy_table import LOWER_IS_BETTER, loss
from collection import eval_lib
from page import write_part
from scipy.stats import spearmanr

from edgekit.toolkit.quantize.outputs.answers import AnswerLoss
from edgekit.toolkit.quantize.quality import Quality

LEFT_OUT = (
    *("wine_gaussian_nb", "gboost", "lightgbm", "random_forest", "rf_regressor", "svc_rbf", "svr"),
    *("knn", "silero_vad_16k", "silero_vad_16k_noif"),
)
"""Models without weights to round, and with state, of which `check` sees the outputs alone."""
MODELS = tuple(name for name in DEFAULT if name not in LEFT_OUT)
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
    "expected": "expected loss of answers",
    "kept": "IoU of masks, F1 of detections",
    "verdict_loss": "what the verdict uses (all but cosine and rank)",
}
HIGHER_IS_BETTER = ("db", "cosine", "rank", "kept")
SERIOUS = 1.0
"""Percent of the metric."""
LEVELS = ("good", "usable", "broken")
PER_CENT = ("changed", "expected", "kept")


def check(model):
    """What `edgekit check --json` says of the file on the evaluation samples."""
    model.fill("{eval}")
    words = ["check", model.folder / "quantized.edge", "--float", model.onnx]
    words += ["--data", model.eval, "--json"]
    done = subprocess.run([*EDGEKIT, *map(str, words)], capture_output=True, text=True)
    if done.returncode not in (0, EXIT_BUDGET):
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.stderr}")
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
            rows = [(x, y) for x, y in zip(a, b, strict=True) if np.ptp(x) and np.ptp(y)]
            ranks.append(float(np.mean([spearmanr(x, y)[0] for x, y in rows])))
    return min(cosines, default=None), min(ranks, default=None)


def row(model, name, setting):
    """One line: figures and loss of a model with a setting; None where that is refused."""
    if "error" in quantize(model, SETTINGS[setting]):
        return None
    said = check(model)
    answers = said["answers"] and AnswerLoss(**said["answers"])
    quality = Quality(said["sqnr_db"], answers, said["samples"], held_out=True,
                      masks=said["masks"], detections=said["detections"])  # fmt: skip
    real, truth = model.score(model.library.ort_run(str(model.directory)))
    figures, got = model.score(model.edge(model.folder / "quantized.edge"))
    metric = next(iter(real))
    lost, unit = loss(metric, real[metric], figures[metric])
    cosine, rank = alike(truth, got)
    kept = quality.least_kept if quality.masks or quality.detections else None
    return {
        "model": name, "setting": setting, "verdict": said["level"],
        "db": quality.worst and quality.worst[1], "cosine": cosine, "rank": rank,
        "changed": answers and answers.changed, "expected": answers and answers.expected,
        "kept": kept, "verdict_loss": quality.loss(strict=True),
        "lost": lost, "relative": relative(model, metric, real[metric], figures[metric]),
        "unit": unit,
    }  # fmt: skip


def relative(model, metric, real, value):
    """What is lost, in percent of the float model's value; of pixels, of the width of images."""
    lost = value - real if metric in LOWER_IS_BETTER else real - value
    pixels = metric == "mae_vs_float"
    return 100 * lost / (max(model.meta["inputs"][0]["shape"][1:]) if pixels else abs(real))


def predicts(rows, figure):
    """(rank correlation of a figure with the relative loss, gains by chance counted as none; area
    under the curve of how it separates losses of more than SERIOUS from others), on these rows."""
    worse = -1 if figure in HIGHER_IS_BETTER else 1
    values = np.array([worse * r[figure] for r in rows])
    lost = np.array([max(r["relative"], 0.0) for r in rows])
    serious = lost > SERIOUS
    if serious.all() or not serious.any():
        return None, None
    above = values[serious][:, None] - values[~serious]
    return float(spearmanr(values, lost)[0]), float(np.mean((above > 0) + 0.5 * (above == 0)))


def tables(rows):
    def shown(value, form):
        return "" if value is None else format(value, form)

    head = ["model", "setting", "verdict", "SQNR, dB", "cosine", "rank", "changed", "expected",
            "kept", "metric lost"]  # fmt: skip
    lines = [head, ["---"] * 3 + ["---:"] * 7]
    for r in rows:
        lines.append(
            [r["model"], r["setting"], r["verdict"], shown(r["db"], ".1f"),
             shown(r["cosine"], ".4f"), shown(r["rank"], ".3f"),
             *(shown(r[figure], ".2%") for figure in PER_CENT),
             f"{r['lost']:.2f} {r['unit']}".strip()]
        )  # fmt: skip
    told = [["figure", "rows", "rank correlation", "area", "SQNR's on these"]]
    told.append(["---", *["---:"] * 4])
    for figure, words in FIGURES.items():
        known = [r for r in rows if r[figure] is not None]
        of_sqnr = [r for r in known if r["db"] is not None]
        shares = (*predicts(known, figure), predicts(of_sqnr, "db")[1])
        told.append([words, str(len(known)), *(shown(share, ".2f") for share in shares)])
    levels = [["verdict", "rows", "median lost, %", "most lost, %"], ["---", *["---:"] * 3]]
    for level in LEVELS:
        lost = [r["relative"] for r in rows if r["verdict"] == level]
        if lost:
            figures = (f"{pick(lost):.2f}" for pick in (np.median, max))
            levels.append([level, str(len(lost)), *figures])
    some = (lines, told, levels)
    return "\n\n".join("\n".join(f"| {' | '.join(cells)} |" for cells in t) for t in some)


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
