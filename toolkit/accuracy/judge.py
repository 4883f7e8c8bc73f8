"""Top-1 that a file loses against the float model, on the same samples again and again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ..build import build_file
from ..errors import UserError
from ..ir import Array, Graph
from ..onnx_types import numpy_dtype
from ..quantize import Keeper
from ..runtime import Session
from .compare import judged_output
from .metrics import Top1

KEPT_SAMPLES = 2048
KEPT_BYTES = 256 << 20


class Judge:
    """Remembers samples, at most 2048 or 256 MB spread evenly, and what the float model says.

    With `labels`, one class a sample, a file loses what it gets right less often; without, what it
    says otherwise than the float model, which is no less. Raises UserError when there are no
    samples or not as many labels, or as check_class.
    """

    def __init__(
        self,
        graph: Graph,
        samples: Iterable[Mapping[str, Array]],
        labels: Sequence[int] | Array | None = None,
    ) -> None:
        check_class(graph)
        session, keeper = Session(build_file(graph)), Keeper(KEPT_SAMPLES, KEPT_BYTES)
        for _ in keeper.passing(samples):
            if labels is not None and keeper.seen > len(labels):
                raise UserError(f"there are more samples than the {len(labels)} labels")
        if not keeper.seen:
            raise UserError("there are no samples to judge by; give at least one")
        if labels is not None and keeper.seen != len(labels):
            raise UserError(f"there are {keeper.seen} samples and {len(labels)} labels")
        self.labels = None if labels is None else [int(c) for c in labels[:: keeper.step]]
        self.kept = [(k.inputs, session.run(k.inputs)) for k in keeper.kept]

    def drop(self, data: bytes) -> float:
        """Top-1 that the .edge file `data` loses, in points of 100."""
        session, top1 = Session(data), Top1()
        for i, (feed, truth) in enumerate(self.kept):
            name = judged_output(truth)
            label = -1 if self.labels is None else self.labels[i]
            top1.add(session.run(feed)[name], truth[name], label)
        if self.labels is None:
            lost = top1.samples - top1.agreed
        else:
            lost = top1.float_right - top1.edge_right
        return 100 * lost / top1.samples


def check_class(graph: Graph) -> None:
    """Raises UserError where the output that top-1 is of does not name one class a sample."""
    outputs = {p.name: np.empty(p.shape, numpy_dtype(p.onnx_dtype)) for p in graph.outputs}
    name = judged_output(outputs)
    if sum(d > 1 for d in outputs[name].shape) > 1:
        raise UserError(
            f"output '{name}' {list(outputs[name].shape)} does not name one class a sample, so "
            "there is no top-1 to lose; limit the noise instead (min_sqnr)"
        )
