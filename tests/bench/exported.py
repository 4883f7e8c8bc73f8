"""How far onnxruntime is from the C runtime on what `edgekit export` writes.

The table of docs/quantized-models.md.

    python tests/bench/exported.py [--models kws,ic] [--default]

Every model of the collection is quantized (as output_hashes.py does), exported and run by both on
evaluation samples. A row gives the values compared, the share that is equal and within one step of
the output's scale, and the largest difference in steps; or why the model is not exported. Outputs
that are float32 in the file count in 1/256 of their largest value. The last two columns are of each
operator by itself, given the integers of the C runtime on SINGLE samples: values of all operators
that differ, in a million, and the largest difference.
The models come from $EDGEKIT_MODELS, read by its eval_lib.py.
"""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
from collection import feeds_of, quantized, rows

import edgekit
from edgekit.toolkit.onnx_export import export

HEAD = (
    "| model | values | equal | within a step | largest difference, steps "
    "| per operator: differ, ppm | largest |\n|---|---|---|---|---|---|---|"
)
SAMPLES, SINGLE = 20, 2
IMAGES = ("Conv2d", "ConvTranspose2d", "MaxPool2d", "AvgPool2d", "Resize")
"""Kinds whose outputs have channels first in the ONNX model."""


def differences(edge, path, arrays):
    """The distance of each output value of onnxruntime from ours, in steps of that output."""
    session, judge, off = edgekit.Session(edge), judge_of(str(path)), []
    for feed in feeds_of(session, arrays, SAMPLES):
        ours = session.run(feed)
        theirs = judge.run([io.name for io in session.outputs], feed)
        for io, got in zip(session.outputs, theirs, strict=True):
            step = io.scale or np.abs(ours[io.name]).max() / 256 or 1.0
            off.append(np.rint(np.abs(got - ours[io.name]).ravel() / step))
    return np.concatenate(off)


def judge_of(model):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options)


def by_operator(edge, path, arrays):
    """Steps between the outputs of each operator of both, which reads our integers in both."""
    session, model = edgekit.Session(edge), onnx.load(path)
    known = {v.name: v for v in onnx.shape_inference.infer_shapes(model).graph.value_info}
    ops = {o.name: o for o in session.op_outputs if o.name in known and o.scale}
    if not ops:
        return np.zeros(1)
    graph, off = model.graph, []
    for node in graph.node:
        node.input[:] = [f"{x}/ours" if x in ops else x for x in node.input]
    for name in ops:
        graph.input.add().CopyFrom(known[name])
        graph.input[-1].name = f"{name}/ours"
    del graph.output[:]
    graph.output.extend(known[name] for name in ops)
    judge = judge_of(model.SerializeToString())
    shapes = {i.name: i.shape for i in judge.get_inputs()}
    for feed in feeds_of(session, arrays, SINGLE):
        ours = {}
        session.run_layers(feed, lambda _, name, q, ours=ours: ours.update({name: q.copy()}))
        real = {
            name: as_shape(o, real_of(o, ours[name]), shapes[f"{name}/ours"])
            for name, o in ops.items()
        }
        given = feed | {f"{name}/ours": array for name, array in real.items()}
        theirs = judge.run(list(ops), {k: v for k, v in given.items() if k in shapes})
        for (name, o), got in zip(ops.items(), theirs, strict=True):
            off.append(np.rint(np.abs(got - real[name]).ravel() / o.scale))
    return np.concatenate(off)


def real_of(op, q):
    return (q.astype(np.int32) - op.zero_point) * np.float32(op.scale)


def as_shape(op, array, shape):
    """What the file has channels last as the ONNX model has it."""
    array = np.asarray(array, np.float32)
    if op.kind.name not in IMAGES or (
        op.kind.name == "Resize" and list(array.shape) == list(shape)
    ):
        return array.reshape(shape)
    n, c, h, w = shape
    return array.reshape(n, h, w, c).transpose(0, 3, 1, 2)


def row(name, how):
    """The model's line of the table."""
    with quantized(name, how) as (edge, arrays):
        path = export(edge, edge.with_name("qdq.onnx")).output
        off = differences(edge, path, arrays)
        alone = by_operator(edge, path, arrays)
    share = [f"{100 * np.mean(off <= most):.3f} %" for most in (0, 1)]
    apart = f"{1e6 * np.mean(alone > 0):.1f} | {alone.max():g}"
    return f"{off.size:,} | {share[0]} | {share[1]} | {off.max():g} | {apart}"


if __name__ == "__main__":
    print(HEAD, flush=True)
    for name, line, error in rows(__doc__, row):
        print(f"| {name} | {line or '| | | ' + error} |", flush=True)
