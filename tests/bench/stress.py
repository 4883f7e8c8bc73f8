"""What default quantization makes of models and samples that are made hard: verdict and metric.

    python tests/bench/stress.py [MODEL ...] [--cases a10,b1,f] [--markdown] [-- QUANTIZE OPTIONS]

MODEL is a folder of the collection ($EDGEKIT_MODELS), or its short name, or "made" for the models
made here; default: those of the table. Cases (stress_models.py makes the models):

    plain      as it is                                         every model
    a10, a100  one of its samples 10 or 100 times as large      every model
    b1 b4 b8   so many samples                                  every model
    c          samples that the model puts into one class       classifiers, and detectors
    d+ d-      inputs times 255, or divided by 255              every model: to be refused
    e:norm     a standardization of each sample in front        every model
    e:mag      a magnitude (squares, Sqrt) in front             inputs that are not negative
    e:log      a Log in front, of exponentials                  every model
    f          a channel times 100 and its inverse behind ReLU  models with Conv, ReLU, Conv
    g          outputs of sizes 0.01, 1 and 100 in one Concat   classifiers
    h          30 features from 0.01 to 10,000 behind a scaler  made here
    i          ten convolutions on one kernel                   made here
    j          each class beside one closer than a step         classifiers, and one made here
    k          angles of 0.3 beside a distance of 300           made here
    l          24 numbers around 1,013 that vary by 6           made here
    m          yes or no for one class, samples of no alone     classifiers
    n          sounds that are filtered, 0 to 40 dB quieter     made here
    o          depths of an image, from 0.2 to 80               made here

Models that read whole numbers, such as indices, have no a, d and e. The samples of a model with
state are steps of a series: float model and file each keep their own (--state).

The metric is the collection's own where labels serve, else the share of answers that are the float
model's, or the R2 of all numbers, of k and l of the worst one, of n of the mean sample, of o what
errors leave of each number. A row whose verdict is good although the metric lost more than 2 % is
marked WRONG.
--markdown writes the table into docs/benchmarks.md: with MODEL or --cases only their rows.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import numpy as np
import onnx
import onnxruntime
import stress_models
from accuracy import EDGEKIT, SHORT
from collection import MODELS, eval_lib, state_of
from page import write_part
from scoring import scored

import edgekit

REFUSED, MISSED = 2, 3
CASES = (
    *("plain", "a10", "a100", "b1", "b4", "b8", "c", "d+", "d-", "e:norm", "e:mag", "e:log"),
    *("f", "g", "h", "i", "j", "k", "l", "m", "n", "o"),
)
DEFAULT = (
    *("kws", "ic", "sww", "wine_scaler_logreg", "mnist", "digits_mlp", "fsdd_gru_digits"),
    *("ultraface", "made", "ad", "silero_vad_16k_noif"),
)
SHOWN_DROP = 2.0
"""Percent of the metric that a good file may lose."""


@dataclass
class Case:
    """A model, the samples that it is calibrated with and judged on, and who judges: the float
    model's answers and those in question, lists of arrays, to a number, higher is better. `state`:
    the output that each input of state is fed with."""

    name: str
    model: onnx.ModelProto
    calib: dict
    evaluation: dict
    metric: Callable
    state: dict = field(default_factory=dict)


def agreement(reference, answers):
    """The share of rows whose largest value is the float model's, in percent."""
    a, b = (x[0].reshape(len(x[0]), -1) for x in (reference, answers))
    return 100 * float(np.mean(a.argmax(1) == b.argmax(1)))


def decided(reference, answers):
    """The share of probabilities on the float model's side of a half, in percent."""
    return 100 * float(np.mean((reference[0] > 0.5) == (answers[0] > 0.5)))


def unexplained(reference, answers):
    """What is left of the squares of each number of an output, and the squares of its spread."""
    truth, got = (x[0].reshape(len(x[0]), -1).astype(np.float64) for x in (reference, answers))
    return [np.square(x).sum(axis=0) for x in (got - truth, truth - truth.mean(axis=0))]


def explained(reference, answers):
    """The R2 of the worst number, in percent."""
    left, spread = unexplained(reference, answers)
    return 100 * (1 - float(np.max(left / spread)))


def all_explained(reference, answers):
    """The R2 of all numbers together, in percent."""
    left, spread = unexplained(reference, answers)
    return 100 * (1 - float(left.sum() / spread.sum()))


def each_explained(reference, answers):
    """The share of its energy that is right, of the mean sample, in percent."""
    truth, got = (x[0].reshape(len(x[0]), -1).astype(np.float64) for x in (reference, answers))
    noise, energy = (np.square(x).sum(axis=1) for x in (got - truth, truth))
    return 100 * (1 - float(np.mean(noise / energy)))


def relatively_right(reference, answers):
    """One minus the mean error relative to each number, in percent."""
    return 100 * (1 - float(np.mean(np.abs(answers[0] / reference[0] - 1))))


MADE = {
    **dict.fromkeys("hij", agreement), **dict.fromkeys("kl", explained), "n": each_explained,
    "o": relatively_right,
}  # fmt: skip
"""Who judges the models made here."""


def by_collection(library, folder):
    labels = library.load_labels(str(folder))
    inputs = library.load_inputs(str(folder), "eval")

    def metric(reference, answers):
        found = scored(library, folder, answers, labels, inputs)
        name = next(iter(found))
        return 100 * found[name] if name != "mae_vs_float" else all_explained(reference, answers)

    return metric


def float_answers(model, arrays, state=MappingProxyType({})):
    """The outputs but those of state, which is zero at first."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    shapes, kept = {}, {}
    for i in session.get_inputs():
        if i.name in state:
            kept[i.name] = np.zeros([d if isinstance(d, int) else 1 for d in i.shape], np.float32)
            continue
        sizes = [d if isinstance(d, int) else 1 for d in i.shape]
        one = arrays[i.name].shape[1:]  # its dimensions may vary
        shapes[i.name] = sizes if np.prod(sizes) == np.prod(one) else [1, *one]
    names = [o.name for o in session.get_outputs()]
    rows = []
    for i in range(len(next(iter(arrays.values())))):
        feed = {n: np.asarray(arrays[n][i]).reshape(s) for n, s in shapes.items()}
        answers = dict(zip(names, session.run(names, {**feed, **kept}), strict=True))
        kept = {n: answers.pop(o) for n, o in state.items()}
        rows.append(list(answers.values()))
    return [np.concatenate(column) for column in zip(*rows, strict=True)]


def edge_answers(path, arrays, names):
    session = edgekit.Session(path)
    rows = []
    for i in range(len(next(iter(arrays.values())))):
        feed = {io.name: np.asarray(arrays[io.name][i]).reshape(io.shape) for io in session.inputs}
        answers = session.run(feed)
        rows.append([answers[n] for n in names])
    return [np.concatenate([np.asarray(a)[None] if a.ndim == 0 else a for a in column])
            for column in zip(*rows, strict=True)]  # fmt: skip


def of_one_class(model, arrays):
    """Which samples the float model puts into the class that it puts most into; None of a model
    that has no softmax, or no such samples. Where a sample has many rows, as of a detector, all
    must have that class."""
    if not any(n.op_type == "Softmax" for n in model.graph.node):
        return None
    found = [a for a in float_answers(model, arrays) if a.dtype.kind == "f" and a.shape[-1] > 1]
    if not found:
        return None
    best = found[0].reshape(len(found[0]), -1, found[0].shape[-1]).argmax(-1)
    alike = (best == best[:, :1]).all(1)
    if not alike.any():
        return None
    return alike & (best[:, 0] == np.bincount(best[alike, 0]).argmax())


def cases_of(folder, wanted):
    """The cases of one model of the collection."""
    library = eval_lib()
    model = onnx.load(folder / "model.onnx")
    types = {i.name: i.type.tensor_type.elem_type for i in model.graph.input}
    dtypes = {n: onnx.helper.tensor_dtype_to_np_dtype(t) for n, t in types.items()}
    calib, evaluation = (library.load_inputs(str(folder), s) for s in ("calib", "eval"))
    state = state_of(library.load_meta(str(folder)))
    types = {n: t for n, t in types.items() if n not in state}
    if not set(types) <= set(calib):
        return
    calib, evaluation = (
        {n: np.asarray(x[n], dtypes[n]) for n in types} for x in (calib, evaluation)
    )
    metric = by_collection(library, folder)
    reads_indices = any(t.kind != "f" for t in dtypes.values())
    for name in wanted:
        if reads_indices and name[0] in "ade":  # indices have no scale
            continue
        changed = dict(calib)
        if name == "plain":
            yield Case(name, model, calib, evaluation, metric, state)
        elif name in ("a10", "a100"):
            changed = {n: a.copy() for n, a in calib.items()}
            for a in changed.values():
                a[np.abs(a).reshape(len(a), -1).max(axis=1).argmax()] *= float(name[1:])
            yield Case(name, model, changed, evaluation, metric, state)
        elif name[0] == "b":
            few = {n: a[: int(name[1:])] for n, a in calib.items()}
            yield Case(name, model, few, evaluation, metric, state)
        elif name == "c" and (most := of_one_class(model, calib)) is not None:
            yield Case(name, model, {n: a[most] for n, a in calib.items()}, evaluation, metric)
        elif name[0] == "d":
            by = np.float32(255.0 if name == "d+" else 1 / 255)
            scaled = [{n: a * by for n, a in x.items()} for x in (calib, evaluation)]
            yield Case(name, model, *scaled, metric, state)
        elif name == "m":
            made = stress_models.changed(name, model, calib, evaluation)
            if made is not None:
                no = float_answers(made[0], calib)[0].ravel() < 0.5
                samples = {n: a[no] for n, a in calib.items()}
                yield Case(name, made[0], samples, evaluation, decided)
        elif name[:2] in ("e:", "f", "g", "j"):
            made = stress_models.changed(name, model, calib, evaluation)
            if made is not None:
                judge = metric if name[0] in "ef" else agreement
                yield Case(name, *made, judge, state)


def run(case, options):
    """What the command says and writes of a case: a row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        model, edge, calib = (Path(folder) / n for n in ("m.onnx", "m.edge", "calib.npz"))
        onnx.save(case.model, model)
        np.savez(calib, **case.calib)
        kept = [f"--state={name}={output}" for name, output in case.state.items()]
        command = [*EDGEKIT, "quantize", model, "--calib", calib, "-o", edge, "--json", *kept]
        command += options
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode not in (0, MISSED):
            why = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else ""
            kind = "refused" if done.returncode == REFUSED else "FAILED"
            return {"case": case.name, "verdict": kind, "why": why}
        told = json.loads(done.stdout[done.stdout.index("{") :])
        reference = float_answers(case.model, case.evaluation, case.state)
        names = [o.name for o in case.model.graph.output if o.name not in case.state.values()]
        answers = edge_answers(edge, case.evaluation, names)
    real, mine = (case.metric(reference, a) for a in (reference, answers))
    return {
        "case": case.name,
        "verdict": told["quality"]["level"],
        "db": min(told["quality"]["sqnr_db"].values(), default=None),
        "float": real,
        "edge": mine,
        "lost": 100 * (real - mine) / abs(real) if real else 0.0,
        "promotion": told["promotion"],
        "file_bytes": told["file_bytes"],
        "suspects": told["suspects"],
    }


def cells(model, row):
    """One line of the table."""
    if "float" not in row:
        sentence = row["why"].split(": ", 2)[-1].partition(". ")[0]
        return [model, row["case"], row["verdict"], "", "", "", sentence]
    done, verdict = row["promotion"], row["verdict"]
    cost = ""
    if done is not None:
        a, b = done["int8"], done["chosen"]
        nodes = ", ".join(f"{n} {p}" for p, n in done["nodes"].items())
        cost = (
            f"{nodes}: {b['file_bytes'] - a['file_bytes']:+,} bytes, "
            f"{b['arena_bytes'] - a['arena_bytes']:+,} arena, "
            f"{100 * (b['work'] / a['work'] - 1):+.1f} % instructions"
        )
    if row["suspects"]:
        cost = "; ".join([*filter(None, [cost]), f"{len(row['suspects'])} outlier named"])
    if verdict == "good" and row["lost"] > SHOWN_DROP:
        verdict += " WRONG"
    db = "" if row["db"] is None else f"{row['db']:.1f}"
    return [model, row["case"], verdict, db, f"{row['float']:.4g}", f"{row['lost']:.2f}", cost]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="*")
    parser.add_argument("--cases", help="names with commas between")
    parser.add_argument("--markdown", action="store_true", help="write docs/benchmarks.md")
    own, options = sys.argv[1:], []
    if "--" in own:
        at = own.index("--")
        own, options = own[:at], own[at + 1 :]
    given = parser.parse_args(own)
    wanted = given.cases.split(",") if given.cases else CASES
    if unknown := [case for case in wanted if case not in CASES]:
        parser.error(f"no case '{unknown[0]}'; there is {', '.join(CASES)}")
    lines = [["model", "case", "verdict", "dB", "float", "lost, %", "promoted, and its cost"]]
    for name in given.models or DEFAULT:
        if name == "made":
            cases = (Case(c, *made, MADE[c]) for c, made in stress_models.made_here(wanted))
        else:
            cases = cases_of(MODELS / SHORT.get(name, name), wanted)
        for case in cases:
            lines.append(cells(name, run(case, options)))
            print(" | ".join(lines[-1]), flush=True)
    if given.markdown:
        table = [f"| {' | '.join(line)} |" for line in lines]
        table.insert(1, "| --- | --- | --- | ---: | ---: | ---: | --- |")
        write_part("stress.py", "\n".join(table), keys=2 if given.models or given.cases else 0)
    return 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
