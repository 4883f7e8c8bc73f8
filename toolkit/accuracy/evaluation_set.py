"""The samples that a metric is of, and what models answer to them, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from ..errors import UserError
from ..ir import Array, Graph, Shape
from ..numerics import numpy_dtype
from ..quantize import Keeper
from ..runtime.batches import with_zeros
from .metric import Metric

KEPT_SAMPLES = 2048
KEPT_BYTES = 256 << 20
INDEX = "sample_index"

Answers = Mapping[str, Array]


def make_keeper(graph: Graph) -> Keeper:
    """Keeps as many samples of `graph` as 256 MB hold with what two models answer, 2048 at most."""
    size = sum(_bytes(p.shape, p.onnx_dtype) for p in graph.inputs)
    size += 2 * sum(_bytes(p.shape, p.onnx_dtype) for p in graph.outputs)
    return Keeper(max(1, min(KEPT_SAMPLES, KEPT_BYTES // max(size, 1))), limit_bytes=1 << 62)


def batch_of(graph: Graph) -> int:
    """Samples that the graph takes at a time: the first axis that all inputs and an output share.

    1 where they share none: a model of [16000] or [40, 3] takes one sample without a batch axis,
    and so does one of [1, 40] with a hidden state of [2, 1, 64].
    """
    given = (p for p in graph.inputs if not p.follows)
    firsts = {p.shape[0] for p in given if len(p.shape) > 1}
    if len(firsts) != 1:
        return 1
    (batch,) = firsts
    return batch if any(p.shape[:1] == (batch,) for p in graph.outputs) else 1


def rows_of(outputs: Answers, batch: int) -> list[dict[str, Array]]:
    """The outputs of each sample of a batch; what has no axis of that length is of all."""
    return [
        {k: v[i : i + 1] if v.shape[:1] == (batch,) else v for k, v in outputs.items()}
        for i in range(batch)
    ]


def _bytes(shape: Shape, onnx_dtype: int) -> int:
    return int(np.prod(shape)) * numpy_dtype(onnx_dtype).itemsize


class EvaluationSet:
    """The kept samples, taken from their keeper: `feeds` to run, `data` as a metric gets it.

    `others` are the arrays that lie beside the inputs, of `total` samples: those of that length are
    taken for the kept samples, the rest whole. Raises UserError unless labels are one a sample.
    """

    def __init__(
        self, graph: Graph, keeper: Keeper, metric: Metric, others: Answers, total: int | None
    ) -> None:
        self.batch = batch_of(graph)
        self.longest = {p.name: p.shape for p in graph.outputs if p.counted_by}
        self.of = keeper.seen * self.batch
        total = self.of if total is None else total
        check_labels(metric, others, total)
        first = np.arange(len(keeper.kept)) * (keeper.step * self.batch)
        index = (first[:, None] + np.arange(self.batch)).ravel()
        self.data: dict[str, Array] = {INDEX: index}
        for name, array in others.items():
            each = array.ndim and len(array) == total
            self.data[name] = array[index] if each else array.view()
        inputs = {p.name: self.stacked([k.inputs[p.name] for k in keeper.kept])
                  for p in graph.inputs}  # fmt: skip
        self.data |= inputs
        shapes = {p.name: p.shape for p in graph.inputs}
        self.feeds = [
            {name: whole.reshape(len(keeper.kept), *shapes[name])[i]
             for name, whole in inputs.items()}
            for i in range(len(keeper.kept))
        ]  # fmt: skip
        for array in self.data.values():
            array.flags.writeable = False

    @property
    def samples(self) -> int:
        return len(self.feeds) * self.batch

    def stacked(self, rows: Sequence[Array]) -> Array:
        """One array, samples first: along the batch axis where there is one, else a new one."""
        batched = rows[0].ndim and rows[0].shape[0] == self.batch
        return np.concatenate(rows) if batched else np.stack(rows)

    def together(self, answers: Iterable[Answers]) -> dict[str, Array]:
        """What a model answers to the samples, by output, samples first; read only.

        Of outputs as long as their values say, each as long as it can be, with zeros behind.
        """
        every = [
            {k: with_zeros(v, self.longest.get(k, v.shape)) for k, v in a.items()} for a in answers
        ]
        found = {name: self.stacked([a[name] for a in every]) for name in every[0]}
        for array in found.values():
            array.flags.writeable = False
        return found


def check_labels(
    metric: Metric, others: Answers, total: int, where: str | Path | None = None
) -> None:
    """Raises UserError unless `others`, of the file `where`, have one label a sample.

    Where the metric takes labels.
    """
    if metric.labels is None:
        return
    file = "" if where is None else f"{where}: "
    if metric.labels not in others:
        have = ", ".join(f"'{n}'" for n in others) or "none"
        raise UserError(
            f"{file}labels '{metric.labels}': no such array in the samples; found: {have}"
        )
    found = others[metric.labels]
    count = len(found) if found.ndim else 1
    if count != total:
        raise UserError(
            f"{file}there are {total} samples and {count} labels '{metric.labels}'; give one "
            "label per sample"
        )
