"""What quantization costs on real models, beside others: the table of docs/benchmarks.md.

    python tests/bench/accuracy.py [MODEL ...] [--setting "NAME: OPTIONS"]... [--ort] [--markdown]
    python tests/bench/accuracy.py kws ic --setting "int8:" --setting "int4: --weights int4"
    python tests/bench/accuracy.py --max-drop 0.2% --markdown

Each MODEL is quantized by `edgekit quantize` with its calibration samples, once per setting
(OPTIONS are those of the command; none: the defaults; {eval} in them is the model's evaluation
samples with their labels, {metric} its score in collection_metric.py), and scored on its evaluation
samples by the collection's own metric, as the float model is by onnxruntime in the same run. --ort
quantizes with onnxruntime too, and says how far it is ahead, and whether by more than chance; else
its figures are those that the collection holds (meta.json), and accuracy_peers.toml has those of
others. --max-drop adds a setting of mixed precisions under that budget, judged on the same samples
that are scored: what it shows is whether a mix exists, and what it costs, not what is lost on
others. --markdown writes the tables into docs/benchmarks.md: with MODELs only their rows.
Models come from $EDGEKIT_MODELS. Nothing is kept between runs. Every command is printed.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from accuracy_table import markdown
from collection import MODELS, eval_lib, state_of
from host import feeds_of
from host_peers import ort_int8
from page import write_part
from resample import lead

import edgekit

SHORT = {
    "kws": "mlperf_kws_dscnn",
    "ic": "mlperf_ic_resnet8",
    "vww": "mlperf_vww_mobilenetv1",
    "ad": "mlperf_ad_autoencoder",
    "sww": "mlperf_sww_tcn",
    "mobilenet": "mobilenet_v1_025_224",
    "ultraface": "ultraface_rfb320",
    "super_resolution": "super_resolution_x3",
    "selfie": "mediapipe_selfie_segmentation",
    "face_landmark": "mediapipe_face_landmark",
    "mnist": "mnist_cntk",
    "digits_mlp": "ml_digits_mlp",
    "wine_gaussian_nb": "ml_wine_gaussian_nb",
    "wine_scaler_logreg": "ml_wine_scaler_logreg",
    "diabetes_ridge": "ml_diabetes_ridge",
    "minilm": "minilm_l3_sentence",
    "gboost": "ml_breast_cancer_gboost",
    "lightgbm": "ml_breast_cancer_lightgbm",
    "random_forest": "ml_digits_random_forest",
    "rf_regressor": "ml_diabetes_rf_regressor",
    "svc_rbf": "ml_digits_svc_rbf",
    "svr": "ml_diabetes_svr",
    "knn": "ml_wine_knn",
}
EXIT_BUDGET = 3
MAX_DROP = "--max-drop {} --eval {{eval}} --metric {{metric}}"
DEFAULT = (
    *("kws", "ic", "vww", "ad", "sww", "mobilenet", "ultraface", "fastestdet", "super_resolution"),
    *("selfie", "mnist", "digits_mlp", "crepe_tiny", "face_landmark", "mtcnn_onet", "ppocrv4_det"),
    *("ppocr_textline_cls", "magika_v3_3", "wine_gaussian_nb", "wine_scaler_logreg"),
    *("diabetes_ridge", "minilm"),
    *("fsdd_gru_digits", "silero_vad_16k", "silero_vad_16k_noif", "gboost", "lightgbm"),
    *("random_forest", "rf_regressor", "svc_rbf", "svr", "knn"),
)
EDGEKIT = [
    sys.executable,
    "-c",
    "import sys; from edgekit.toolkit.cli import main; sys.exit(main())",
]


def say(*words):
    print(*words, file=sys.stderr, flush=True)


class Model:
    """A model of the collection, its samples expanded into `folder`."""

    def __init__(self, library, name, folder):
        self.library, self.name, self.folder = library, name, folder
        self.directory = MODELS / SHORT.get(name, name)
        self.onnx = self.directory / "model.onnx"
        self.meta = library.load_meta(self.directory)
        self.outputs = [o["name"] for o in self.meta["outputs"]]
        self.scored = self.meta["metric"].get("output", 0)
        self.calib = folder / "calib.npz"
        samples = library.load_inputs(str(self.directory), "calib")
        np.savez(self.calib, **samples)
        self.eval = folder / "eval.npz"
        self.shapes = {
            i["name"]: self._shape(i, samples)
            for i in self.meta["inputs"]
            if not all(_fixed(d) for d in i["shape"][1:])
        }

    def _shape(self, io, samples):
        """The shape of an input for one sample; those of recurrent models are stored with it."""
        if io["name"] not in samples:
            return [d if _fixed(d) else 1 for d in io["shape"]]
        stored = samples[io["name"]].shape[1:]
        return stored if self.meta.get("stateful") else (1, *stored)

    def given(self):
        """Options for inputs that are no samples: state, and constants."""
        pairs = [f"--state={name}={output}" for name, output in state_of(self.meta).items()]
        fixed = {i["name"]: i["const"] for i in self.meta["inputs"] if "const" in i}
        return [*pairs, *(f"--constant={name}={value}" for name, value in fixed.items())]

    def fill(self, options):
        """The words of `options`, what stands in braces filled in."""
        if "{eval}" in options and not self.eval.exists():
            directory = str(self.directory)
            labels = self.library.load_labels(directory)
            np.savez(self.eval, **self.library.load_inputs(directory, "eval"), **labels)
        metric = f"{Path(__file__).parent / 'collection_metric.py'}:{self.name}"
        words = {"{eval}": str(self.eval), "{metric}": metric}
        return [words.get(word, word) for word in shlex.split(options)]

    def score(self, run):
        """(the metric's figures, the outputs it was computed from)."""
        seen = []

        def watched(feed):
            outputs = run(feed)
            seen.append(outputs)
            return outputs

        figures = self.library.score(str(self.directory), watched)
        return figures, [
            np.concatenate([np.asarray(o[k]) for o in seen]) for k in range(len(seen[0]))
        ]

    def edge(self, path):
        """A runner of an .edge file for one sample, called with batches."""
        session, kept = edgekit.Session(path), self.meta.get("stateful", {})

        def step(feed):
            """One of a sequence; ones stand for the state, which the session keeps."""
            if not any(np.any(feed[name]) for name in kept):
                session.reset()
            answer = session.run({io.name: feed[io.name] for io in session.inputs})
            return [answer.get(name, np.ones(1)) for name in self.outputs]

        def one(feed, at):
            answer = session.run({k: v[at : at + 1] for k, v in feed.items()})
            rows = [answer[name] for name in self.outputs]
            return [r if r.ndim and len(r) == 1 else r[None] for r in rows]

        def run(feed):
            rows = [one(feed, at) for at in range(len(next(iter(feed.values()))))]
            return [np.concatenate([row[k] for row in rows]) for k in range(len(self.outputs))]

        return step if kept else run


def _fixed(dim):
    return isinstance(dim, int) and dim > 0


def quantize(model, options):
    """What `edgekit quantize --json` says, or its error."""
    path = model.folder / "quantized.edge"
    shapes = [f"--shape={k}={','.join(map(str, v))}" for k, v in model.shapes.items()]
    arguments = [str(model.onnx), *shapes, *model.given(), *model.fill(options)]
    say(f"edgekit quantize {' '.join(arguments)} --calib calib.npz")
    command = [
        *EDGEKIT,
        "quantize",
        *arguments,
        "--calib",
        str(model.calib),
        "-o",
        str(path),
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, EXIT_BUDGET):
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        return {"error": lines[-1].strip(" -").removeprefix("edgekit: ")}
    return json.loads(done.stdout[done.stdout.index("{") :])


def measure(model, settings, with_ort):
    float_figures, truth = model.score(model.library.ort_run(str(model.directory)))
    metric = next(iter(float_figures))
    row = {
        "model": model.name,
        "folder": model.directory.name,
        "metric": metric,
        "float": float_figures[metric],
        "settings": {},
    }
    peer = onnxruntime_int8(model, truth, metric) if with_ort else None
    row["onnxruntime"], theirs = peer or (held(model, metric), None)
    for name, options in settings.items():
        said = quantize(model, options)
        if "error" in said:
            row["settings"][name] = said
            say(f"{model.name:20} {name}: {said['error']}")
            continue
        path = Path(said["output"])
        figures, outputs = model.score(model.edge(path))
        real = {op: n["float32"] for op, n in said["ops"].items() if "float32" in n}
        row["settings"][name] = {
            "value": figures[metric],
            **compared(truth, outputs, model.scored, metric),
            "onnxruntime_lead": theirs and lead(model, outputs, theirs, metric, row["float"]),
            "bytes": path.stat().st_size,
            "seconds": said["seconds"],
            "float_operators": real,
            "mixed": mixed(said["mixed"]),
            "decisions": ["{op} '{node}': {what}: {why}".format(**d) for d in said["decisions"]],
        }
        found = json.dumps(row["settings"][name])[:400]
        say(f"{model.name:20} {name}: {metric} {row['float']:.4f} -> {found}")
    return row


def mixed(found):
    """What the table says of a mix: what int8 lost, and what is not int8."""
    if found is None or found["metric"] is None:
        return None
    kinds = list(found["nodes"].values())
    return {
        "met": found["budget_met"],
        "int8_drop": found["int8"]["drop"],
        "int8_bytes": found["int8"]["file_bytes"],
        "bytes": found["chosen"]["file_bytes"],
        "drop": found["chosen"]["drop"],
        "unit": found["metric"]["unit"],
        "trials": found["trials"],
        **{kind: kinds.count(kind) for kind in ("int16", "int4", "float32")},
    }


def compared(truth, outputs, scored, metric):
    """SQNR of the output that is scored, and for classes how often the answer is the same."""
    t, o = (np.asarray(v[scored], np.float64) for v in (truth, outputs))
    if truth[scored].dtype.kind != "f":
        return {"agreement": float(np.mean(t == o))}
    noise = float(np.sum((t - o) ** 2))
    found = {"sqnr_db": 10 * np.log10(float(np.sum(t**2)) / noise) if noise else float("inf")}
    if metric == "top1":
        classes = (v.reshape(len(v), -1).argmax(1) for v in (t, o))
        found["agreement"] = float(np.mean(np.equal(*classes)))
    return found


def held(model, metric):
    """onnxruntime's static quantization, as the collection's makers measured it."""
    found = model.meta.get("ort_int8_baseline") or {"error": "not measured"}
    if "error" in found:
        return {"error": found["error"]}
    sqnr = found.get(f"sqnr_db_{model.scored}")
    return {"value": found[metric], "sqnr_db": sqnr, "bytes": found["bytes"]}


def onnxruntime_int8(model, truth, metric):
    """(the same now, its outputs): QDQ, per channel, int8 both, min and max of first samples."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    path = model.folder / "int8.onnx"
    if not ort_int8(model.onnx, feeds_of(model.calib), path):
        return {"error": "it cannot quantize the model"}, None
    figures, outputs = model.score(model.library.ort_run(str(model.directory), str(path)))
    found = {"value": figures[metric], **compared(truth, outputs, model.scored, metric),
             "bytes": path.stat().st_size}  # fmt: skip
    return found, outputs


def setting(text):
    name, colon, options = text.partition(":")
    if not colon or not name.strip():
        raise argparse.ArgumentTypeError(
            f"'{text}': write it as 'NAME: OPTIONS of edgekit quantize'"
        )
    return name.strip(), options.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "models", nargs="*", metavar="MODEL", help=f"of {', '.join(DEFAULT)}; default: all"
    )
    parser.add_argument("--setting", type=setting, action="append", metavar='"NAME: OPTIONS"')
    parser.add_argument(
        "--max-drop", metavar="N%", help="also mix precisions under this budget, 0.2%% for example"
    )
    parser.add_argument("--ort", action="store_true", help="quantize with onnxruntime now")
    parser.add_argument("--json", action="store_true")
    parser.add_argument(
        "--markdown", action="store_true", help="write the tables into the document"
    )
    arguments = parser.parse_args()
    if not (MODELS / "eval_lib.py").exists():
        sys.exit(f"no model collection at {MODELS}: set EDGEKIT_MODELS")
    library, settings = eval_lib(), dict(arguments.setting or [("int8", "")])
    if arguments.max_drop:
        settings[f"max-drop {arguments.max_drop}"] = MAX_DROP.format(arguments.max_drop)
    rows = []
    for name in arguments.models or DEFAULT:
        if not (MODELS / SHORT.get(name, name) / "model.onnx").exists():
            sys.exit(f"no model '{name}' at {MODELS}; there is {', '.join(DEFAULT)}")
        with tempfile.TemporaryDirectory() as folder:
            rows.append(measure(Model(library, name, Path(folder)), settings, arguments.ort))
    text = markdown(rows, settings)
    if arguments.markdown:
        write_part("accuracy.py", text, keys=1 if arguments.models else 0)
    print(json.dumps(rows, indent=2) if arguments.json else text)


if __name__ == "__main__":
    main()
