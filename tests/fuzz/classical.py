"""Operators of classical models, for the corpus."""

import numpy as np

from edgekit.toolkit.format.schema import DistanceFn, DType, OpKind, TreeAggregate
from edgekit.toolkit.ops.classical._forest import Forest, Question, Split, Tree
from edgekit.toolkit.ops.classical._forest_table import encode


def kernels(f, form):
    """Distances by every function, or pairs of classes coupled."""
    if form.kind == OpKind.Distance:
        for fn in DistanceFn:
            ab = [f.input(DType.Float32, 3, 4), f.input(DType.Float32, 5, 4)]
            p = {"rows": 3, "columns": 5, "features": 4, "fn": fn}
            f.output(f.op(form, ab, DType.Float32, 3, 5, **p))
    else:
        for classes in (2, 4):
            x = f.input(DType.Float32, 2, classes * (classes - 1) // 2)
            f.output(f.op(form, [x], DType.Float32, 2, classes, rows=2, classes=classes))


def forests(f, form):
    """Nodes of all sizes, leaves of one target, of several, and integers."""
    question = Question(0, False, 5)
    splits = [
        Split(question, 1, ~0),
        Split(question._replace(feature=2, nan_low=True, cut=-7), ~1, 2),
        Split(Question(1, False, 0, (3, 1 << 30)), ~2, 3),
        Split(question._replace(feature=2, cut=9), ~1, ~0),
    ]
    trees = [Tree(splits, 0), Tree((), ~1), Tree(splits[3:], 0)]
    rows = {
        1: [((0, 0.5),), ((0, -1.5),), ((0, 2.0),)],
        3: [((0, 1.0), (2, -2.0)), ((1, 3.0),), ()],
    }
    for size, targets in ((2, 1), (3, 1), (4, 3), (2, 3), (3, 3)):
        for aggregate in TreeAggregate:
            base = np.arange(targets, dtype=np.float32)
            whole = size + targets < 6 and aggregate in (TreeAggregate.Sum, TreeAggregate.Average)
            step, bits = (0.25, 8 * (1 + aggregate)) if whole else (0.0, 32)
            forest = Forest(3, targets, trees, rows[targets], base, aggregate, step, bits)
            emit(f, form, forest, size)
    asked = [Question(i % 9, False, 5 * (i // 9 + 1)) for i in range(36)]
    pixels = [Split(q, i + 1 if i < 35 else ~1, ~0) for i, q in enumerate(asked)]
    both = [Split(q, (1, ~0, ~1)[i], (2, ~1, ~0)[i]) for i, q in enumerate(asked[:3])]
    made = [Tree(pixels, 0), Tree(both, 0)]
    base = np.zeros(1, np.float32)
    emit(f, form, Forest(9, 1, made, rows[1], base, TreeAggregate.Sum, 0.25, 8), 2)


def emit(f, form, forest, size):
    table = encode(forest, [size])
    p = {"rows": 2, "features": forest.features, "targets": forest.targets}
    p |= {"table": f.constant(np.frombuffer(table.data, np.uint8)), "scratch": table.scratch}
    x = f.input(DType.Float32, 2, forest.features)
    f.output(f.op(form, [x], DType.Float32, 2, forest.targets, **p))
