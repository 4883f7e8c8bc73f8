"""The collection's own score of a model, as a metric for `edgekit quantize --metric`.

    edgekit quantize model.onnx --calib calib.npz --eval eval.npz --max-drop 0.2% \\
        --metric tests/bench/collection_metric.py:kws

The function is called like the model, by its short or its folder's name. `eval.npz` is that of
`eval_lib.py expand`: inputs, and labels under y... and ref_... . Scores of which less is better
become 1 - score / width of the picture in pixels: 0.2 % of 192 pixels is 0.38.
"""

from __future__ import annotations

from accuracy import SHORT
from accuracy_table import LOWER_IS_BETTER
from collection import MODELS, eval_lib
from scoring import scored

LIBRARY = eval_lib()


def __getattr__(name):
    directory = MODELS / SHORT.get(name, name)
    if not (directory / "meta.json").exists():
        raise AttributeError(f"no model '{name}' at {MODELS}")
    meta = LIBRARY.load_meta(directory)
    names, taken = ([io["name"] for io in meta[side]] for side in ("outputs", "inputs"))

    def metric(outputs, references, data):
        labels = {k: v for k, v in data.items() if k[:1] in "yr"}
        inputs = {n: data[n] for n in taken if n in data}
        figures = scored(LIBRARY, directory, [outputs[n] for n in names], labels, inputs)
        kind = next(iter(figures))
        width = max(data[taken[0]].shape[1:])
        return 1 - figures[kind] / width if kind in LOWER_IS_BETTER else figures[kind]

    metric.__qualname__ = metric.__name__ = name
    return metric
