"""Models made hard for int8: changed ones of the collection, and small ones made here."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


def changed(name, model, calib, evaluation):
    """(model, calibration, evaluation arrays) of a case, whose samples the first input takes; None
    where the model has nothing to change."""
    made = type(model)()
    made.CopyFrom(model)
    if list(calib) != [model.graph.input[0].name] or model.opset_import[0].version >= 18:
        return None
    if name == "f":
        return (made, calib, evaluation) if scale_a_channel(made.graph) else None
    if name in "gjm":
        return (made, calib, evaluation) if END[name](made.graph) else None
    arrays = [x[model.graph.input[0].name] for x in (calib, evaluation)]
    raw = FRONT[name](made.graph, *arrays)
    if raw is None:
        return None
    return made, *({made.graph.input[0].name: a} for a in raw)


def constant(graph, name, value):
    graph.initializer.append(numpy_helper.from_array(np.asarray(value, np.float32), name))
    return name


def shape_of(graph, samples):
    """The shape of the first input for one of the samples [n, ...], where its own varies."""
    dims = [d.dim_value for d in graph.input[0].type.tensor_type.shape.dim]
    one = samples.shape[1:] if samples.ndim > len(dims) else (1, *samples.shape[1:])
    return [d if d > 0 else n for d, n in zip(dims, one, strict=True)]


def in_front(graph, nodes, shape):
    """Put `nodes`, (operator, inputs, output, attributes) from "raw" to "raw.ready", in front."""
    old = graph.input[0]
    made = [helper.make_node(op, i, [o], **a) for op, i, o, a in nodes]
    for node in graph.node:
        node.input[:] = ["raw.ready" if n == old.name else n for n in node.input]
    raw = helper.make_tensor_value_info("raw", TensorProto.FLOAT, shape)
    inputs, rest = [raw, *graph.input[1:]], list(graph.node)
    del graph.input[:]
    graph.input.extend(inputs)
    del graph.node[:]
    graph.node.extend([*made, *rest])


def standardized(graph, calib, evaluation):
    """Each sample less its mean, over its deviation, brought to what the model is used to."""
    axes = list(range(1, len(graph.input[0].type.tensor_type.shape.dim)))
    mean, deviation, least = (
        constant(graph, f"raw.{n}", v)
        for n, v in (("mean", calib.mean()), ("deviation", calib.std()), ("least", 1e-6))
    )
    in_front(
        graph,
        [
            ("ReduceMean", ["raw"], "raw.m", {"axes": axes}),
            ("Sub", ["raw", "raw.m"], "raw.c", {}),
            ("Mul", ["raw.c", "raw.c"], "raw.s", {}),
            ("ReduceMean", ["raw.s"], "raw.v", {"axes": axes}),
            ("Add", ["raw.v", least], "raw.w", {}),
            ("Sqrt", ["raw.w"], "raw.d", {}),
            ("Div", ["raw.c", "raw.d"], "raw.n", {}),
            ("Mul", ["raw.n", deviation], "raw.t", {}),
            ("Add", ["raw.t", mean], "raw.ready", {}),
        ],
        shape_of(graph, calib),
    )
    return calib, evaluation


def magnitude(graph, calib, evaluation):
    """The input as the length of a vector of two, as of a spectrum; None if some is negative."""
    if min(calib.min(), evaluation.min()) < 0:
        return None
    for i in (0, 1):
        name = f"raw.i{i}"
        graph.initializer.append(numpy_helper.from_array(np.array(i, np.int64), name))
    in_front(
        graph,
        [
            ("Gather", ["raw", "raw.i0"], "raw.a", {"axis": -1}),
            ("Gather", ["raw", "raw.i1"], "raw.b", {"axis": -1}),
            ("Mul", ["raw.a", "raw.a"], "raw.aa", {}),
            ("Mul", ["raw.b", "raw.b"], "raw.bb", {}),
            ("Add", ["raw.aa", "raw.bb"], "raw.s", {}),
            ("Sqrt", ["raw.s"], "raw.ready", {}),
        ],
        [*shape_of(graph, calib), 2],
    )
    rng = np.random.default_rng(1)
    angles = (rng.uniform(0, 2 * np.pi, size=x.shape) for x in (calib, evaluation))
    return [
        np.stack([x * np.cos(t), x * np.sin(t)], -1).astype(np.float32)
        for x, t in zip((calib, evaluation), angles, strict=True)
    ]


def logarithm(graph, calib, evaluation):
    """The input as a logarithm of powers, as of a mel spectrum."""
    mean, deviation = float(calib.mean()), float(calib.std())
    names = constant(graph, "raw.mean", mean), constant(graph, "raw.deviation", deviation)
    in_front(
        graph,
        [
            ("Log", ["raw"], "raw.l", {}),
            ("Mul", ["raw.l", names[1]], "raw.t", {}),
            ("Add", ["raw.t", names[0]], "raw.ready", {}),
        ],
        shape_of(graph, calib),
    )
    return [np.exp((x - mean) / deviation).astype(np.float32) for x in (calib, evaluation)]


def scale_a_channel(graph):
    """One channel behind the first ReLU between two convolutions times 100, and back."""
    weights = {t.name: t for t in graph.initializer}
    made = {o: n for n in graph.node for o in n.output}
    readers = {}
    for node in graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    for relu in graph.node:
        if relu.op_type != "Relu":
            continue
        before, after = made.get(relu.input[0]), readers.get(relu.output[0], [])
        if before is None or before.op_type != "Conv" or len(after) != 1:
            continue
        if after[0].op_type != "Conv" or len(readers[relu.input[0]]) != 1:
            continue
        group = next((a.i for a in after[0].attribute if a.name == "group"), 1)
        if not all(n in weights for n in [*before.input[1:], after[0].input[1]]):
            continue
        for name in before.input[1:]:
            scaled(weights[name], 0, 100.0)
        scaled(weights[after[0].input[1]], 0 if group > 1 else 1, 0.01)
        return True
    return False


def scaled(tensor, axis, factor):
    """The first index of the axis times a factor."""
    array = numpy_helper.to_array(tensor).copy()
    np.moveaxis(array, axis, 0)[0] *= factor
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def last_logits(graph):
    """What the last softmax reads, which it then no longer does, and its number of classes."""
    softmaxes = [n for n in graph.node if n.op_type == "Softmax"]
    if not softmaxes or softmaxes[-1].output[0] != graph.output[0].name:
        return None
    dims = [d.dim_value for d in graph.output[0].type.tensor_type.shape.dim]
    if len(dims) != 2:
        return None
    graph.node.remove(softmaxes[-1])
    del graph.output[:]
    return softmaxes[-1].input[0], dims[-1]


def of_three_sizes(graph):
    """Logits of three sizes in one output."""
    found = last_logits(graph)
    if found is None:
        return False
    logits, classes = found
    names = []
    for size in (0.01, 1.0, 100.0):
        name = constant(graph, f"size{size}", size)
        graph.node.append(helper.make_node("Mul", [logits, name], [f"of{size}"]))
        names.append(f"of{size}")
    graph.node.append(helper.make_node("Concat", names, ["sizes"], axis=1))
    shape = [1, 3 * classes]
    graph.output.append(helper.make_tensor_value_info("sizes", TensorProto.FLOAT, shape))
    return True


def with_near_classes(graph):
    """Each class beside another that is a little off it."""
    found = last_logits(graph)
    if found is None:
        return False
    logits, classes = found
    graph.node.extend(near(graph, logits, classes, 0.01))
    shape = [1, 2 * classes]
    graph.output.append(helper.make_tensor_value_info("near", TensorProto.FLOAT, shape))
    return True


def near(graph, logits, classes, gap):
    off = gap * np.random.default_rng(2).normal(size=(classes, classes))
    name = constant(graph, "pairs", np.concatenate([np.eye(classes), np.eye(classes) + off], 1))
    return [
        helper.make_node("MatMul", [logits, name], ["pairs.logits"]),
        helper.make_node("Softmax", ["pairs.logits"], ["near"], axis=1),
    ]


def of_one_answer(graph):
    """The probability of the first class, by a sigmoid of how far it leads the mean of others."""
    found = last_logits(graph)
    if found is None:
        return False
    logits, classes = found
    lead = np.full((classes, 1), -1 / (classes - 1))
    lead[0] = 1
    nodes = ("MatMul", [logits, constant(graph, "lead", lead)]), ("Sigmoid", ["answer.logit"])
    for (op, read), name in zip(nodes, ("answer.logit", "answer"), strict=True):
        graph.node.append(helper.make_node(op, read, [name]))
    graph.output.append(helper.make_tensor_value_info("answer", TensorProto.FLOAT, [1, 1]))
    return True


FRONT = {"e:norm": standardized, "e:mag": magnitude, "e:log": logarithm}
END = {"g": of_three_sizes, "j": with_near_classes, "m": of_one_answer}


def made_here(wanted):
    """(case, (model, calibration, evaluation arrays)) of the models that need no collection."""
    makers = {"h": table, "i": one_kernel, "j": classifier, "k": pose, "l": pressures}
    makers |= {"n": sounds, "o": depths}
    for name, maker in makers.items():
        if name in wanted:
            yield name, maker(np.random.default_rng(5))


def model_of(nodes, constants, shape, answers, output):
    """A model with an input of `shape` and an output of the shape `answers`, without the batch."""
    inits = [numpy_helper.from_array(np.asarray(a, np.float32), n) for n, a in constants.items()]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, *shape])
    y = helper.make_tensor_value_info(output, TensorProto.FLOAT, [1, *answers])
    made = [helper.make_node(op, i, [o], **a) for op, i, o, a in nodes]
    graph = helper.make_graph(made, "made", [x], [y], inits)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)


def table(rng, hidden=16, classes=3):
    """Features from 0.01 to 10,000 behind a scaler, as scikit-learn exports one."""
    sizes = np.geomspace(0.01, 1e4, 30)
    x = sizes * (3 + rng.normal(size=(1200, 30)))
    constants = {
        "mean": 3 * sizes, "std": sizes,
        "w": rng.normal(size=(30, hidden)) / 5, "b": rng.normal(size=hidden) / 5,
        "v": rng.normal(size=(hidden, classes)), "c": rng.normal(size=classes) / 5,
    }  # fmt: skip
    nodes = [
        ("Sub", ["x", "mean"], "d", {}), ("Div", ["d", "std"], "s", {}),
        ("Gemm", ["s", "w", "b"], "a", {}), ("Relu", ["a"], "r", {}),
        ("Gemm", ["r", "v", "c"], "l", {}), ("Softmax", ["l"], "p", {"axis": 1}),
    ]  # fmt: skip
    return model_of(nodes, constants, (30,), (classes,), "p"), *halves(x)


def one_kernel(rng, channels=32, times=10):
    """Ten convolutions that share one kernel."""
    x = rng.normal(size=(240, 3, 12, 12))
    constants = {
        "w0": rng.normal(size=(channels, 3, 3, 3)) / 4,
        "k": rng.normal(size=(channels, channels, 3, 3)) / np.sqrt(9 * channels / 2),
        "v": rng.normal(size=(channels, 10)), "c": np.zeros(10),
    }  # fmt: skip
    pads = {"pads": [1, 1, 1, 1]}
    nodes = [("Conv", ["x", "w0"], "h0", pads)]
    for i in range(times):
        nodes += [("Relu", [f"h{i}"], f"r{i}", {}), ("Conv", [f"r{i}", "k"], f"h{i + 1}", pads)]
    nodes += [
        ("GlobalAveragePool", [f"h{times}"], "g", {}), ("Flatten", ["g"], "f", {}),
        ("Gemm", ["f", "v", "c"], "l", {}), ("Softmax", ["l"], "p", {"axis": 1}),
    ]  # fmt: skip
    return model_of(nodes, constants, (3, 12, 12), (10,), "p"), *halves(x)


def classifier(rng, classes=10):
    """Pairs of classes that are closer than a step of int8."""
    x = rng.normal(size=(1200, 16))
    w = rng.normal(size=(16, classes))
    constants = {"w": np.concatenate([w, w + 0.01 * rng.normal(size=w.shape)], 1)}
    nodes = [("MatMul", ["x", "w"], "l", {}), ("Softmax", ["l"], "p", {"axis": 1})]
    return model_of(nodes, constants, (16,), (2 * classes,), "p"), *halves(x)


def pose(rng, hidden=32):
    """Three angles beside a distance, in one output."""
    return regressor(rng, hidden, np.array([0.3, 0.3, 0.3, 300.0]), 0.0)


def pressures(rng, hidden=32):
    """Twenty-four pressures in hPa."""
    return regressor(rng, hidden, np.full(24, 6.0), 1013.0)


def sounds(rng, channels=16, length=400):
    """A filter that a denoiser might be, and sounds on levels 40 dB apart."""
    levels = 10 ** (-rng.uniform(0, 40, 400) / 20)
    x = levels[:, None, None, None] * rng.normal(size=(400, 1, 1, length))
    constants = {
        "w": 0.3 * rng.normal(size=(channels, 1, 1, 9)),
        "v": 0.3 * rng.normal(size=(1, channels, 1, 9)),
    }
    pads = {"pads": [0, 4, 0, 4]}
    nodes = [
        ("Conv", ["x", "w"], "a", pads), ("LeakyRelu", ["a"], "r", {"alpha": 0.2}),
        ("Conv", ["r", "v"], "y", pads),
    ]  # fmt: skip
    return model_of(nodes, constants, (1, 1, length), (1, 1, length), "y"), *halves(x)


def depths(rng, channels=24, side=24):
    """Depths that differ by a factor of 100 or more."""
    x = rng.normal(size=(300, 3, side, side))
    constants = {
        "w": rng.normal(size=(channels, 3, 3, 3)) / np.sqrt(27), "b": np.zeros(channels),
        "v": 2.5 * rng.normal(size=(1, channels, 1, 1)) / np.sqrt(channels), "c": np.full(1, 1.0),
        "eight": np.full(1, 8.0),
    }  # fmt: skip
    nodes = [
        ("Conv", ["x", "w", "b"], "a", {"pads": [1, 1, 1, 1]}), ("Relu", ["a"], "r", {}),
        ("Conv", ["r", "v", "c"], "s", {}), ("Softplus", ["s"], "p", {}),
        ("Mul", ["p", "eight"], "depth", {}),
    ]  # fmt: skip
    return model_of(nodes, constants, (3, side, side), (1, side, side), "depth"), *halves(x)


def regressor(rng, hidden, sizes, offset, features=12):
    """Numbers of these standard deviations around an offset."""
    x = rng.normal(size=(1200, features))
    constants = {
        "w": rng.normal(size=(features, hidden)) / np.sqrt(features), "b": np.zeros(hidden),
        "v": rng.normal(size=(hidden, len(sizes))) / np.sqrt(hidden / 3) * sizes,
        "c": np.full(len(sizes), offset),
    }  # fmt: skip
    nodes = [
        ("Gemm", ["x", "w", "b"], "a", {}), ("Relu", ["a"], "r", {}),
        ("Gemm", ["r", "v", "c"], "y", {}),
    ]  # fmt: skip
    return model_of(nodes, constants, (features,), (len(sizes),), "y"), *halves(x)


def halves(x):
    """A fifth of the samples, as they come, for calibration, the rest for evaluation."""
    x = x.astype(np.float32)
    few = len(x) // 5
    return {"x": x[:few]}, {"x": x[few:]}
