"""Samples looked at before any work: those that are plainly not the model's are refused."""

from __future__ import annotations

from itertools import islice

from ...calibration import Samples
from ..errors import UserError
from ..ir import Graph
from ..quantize.ranges.input_scale import LOOKED_AT, wrong_scale


def check_scale(graph: Graph, samples: Samples, any_scale: bool) -> list[str]:
    """What to note of the scale of the first samples; nothing of a generator's.

    Raises UserError where they are plainly on another scale than the model's, unless `any_scale`.
    """
    if not samples.reiterable:
        return []
    shapes = {p.name: p.shape for p in graph.inputs}  # of a model whose dimensions vary, one of its
    first = (s for s in samples if all(x.shape == shapes[name] for name, x in s.items()))
    wrong = wrong_scale(graph, list(islice(first, LOOKED_AT)))
    if wrong is None:
        return []
    if wrong.plain and not any_scale:
        raise UserError(f"{samples.description}: {wrong}. If they are right, use --any-scale")
    return [str(wrong)]


def notes_of_ignored(samples: Samples, label: str | None) -> list[str]:
    """What to note of arrays that are neither inputs nor the `label`."""
    names = [name for name in samples.ignored if name != label]
    if not names:
        return []
    listed, several = ", ".join(f"'{name}'" for name in names), len(names) > 1
    what = "arrays" if several else "array"
    return [f"ignored {what} {listed}: {'not inputs' if several else 'not an input'} of the model"]
