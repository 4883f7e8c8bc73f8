"""One sample, many, or a sample without its batch axis -> the feed of each run, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import UserError
from ..ir import Array, Shape
from .model import IoInfo

Feed = Mapping[str, Any]


def split(feed: Any, inputs: Sequence[IoInfo]) -> tuple[list[dict[str, Array]], int]:
    """The feed of each run, and how many samples a run takes; 0 if the arrays are one run's.

    An input of shape [B, ...] takes an array of its own shape, [...] where B is 1, [N * B, ...]
    or [N, B, ...]. `feed` has an array per input; a bare array is that of the only input. Raises
    UserError for names and shapes that fit no input, and for different numbers of samples.
    """
    arrays = _named(feed, inputs)
    for io in inputs:
        if _lacks_batch(io, arrays[io.name].shape):
            arrays[io.name] = arrays[io.name].reshape(io.shape)
    if all(arrays[io.name].shape == io.shape for io in inputs):
        return [arrays], 0
    runs: dict[str, int] = {}
    batches: dict[str, int] = {}
    for io in inputs:
        runs[io.name], batches[io.name] = _runs(io, arrays[io.name].shape)
    if len(set(runs.values())) != 1:
        counts = {name: arrays[name].shape[0] for name in runs}
        raise UserError(f"inputs with different numbers of samples: {counts}")
    n = next(iter(runs.values()))
    if n == 0:
        raise UserError("the inputs contain no sample")
    rows = {io.name: np.reshape(arrays[io.name], (n, *io.shape)) for io in inputs}
    return [{name: a[i] for name, a in rows.items()} for i in range(n)], max(batches.values())


def only(feed: Any, inputs: Sequence[IoInfo]) -> dict[str, Array]:
    """The feed of a single run. Raises UserError as `split` does, and for more runs than one."""
    feeds, _ = split(feed, inputs)
    if len(feeds) > 1:
        raise UserError(f"the inputs contain {len(feeds)} runs; pass the samples of one")
    return feeds[0]


def join(results: Sequence[Array], batch: int) -> Array:
    """Outputs of all runs along a first axis, as a float model with a batch gives them.

    `batch` is how many samples a run took; 0 for one run, whose output stays as it is.
    """
    if not batch:
        return results[0]
    first = results[0]
    batched = first.ndim > 0 and first.shape[0] == batch
    return np.concatenate(results) if batched else np.stack(results)


def with_zeros(x: Array, shape: Shape) -> Array:
    """`x` in a shape that is as long along every axis or longer, with zeros behind."""
    if x.shape == shape:
        return x
    return np.pad(x, [(0, n - d) for d, n in zip(x.shape, shape, strict=True)])


def _named(feed: Any, inputs: Sequence[IoInfo]) -> dict[str, Array]:
    """The array of each input, by name, in the model's order."""
    names = [io.name for io in inputs]
    if not isinstance(feed, Mapping):
        if len(inputs) != 1:
            raise UserError(
                f"a {type(feed).__name__} for a model of {len(inputs)} inputs; "
                f"give a dict of an array per input: {', '.join(names)}"
            )
        return {names[0]: np.asarray(feed)}
    for name in feed:
        if name not in names:
            raise UserError(f"no input '{name}'; the model's are: {', '.join(names)}")
    for name in names:
        if name not in feed:
            raise UserError(f"no input '{name}' given; needed: {', '.join(names)}")
    return {name: np.asarray(feed[name]) for name in names}


def _lacks_batch(io: IoInfo, shape: Shape) -> bool:
    return io.shape[:1] == (1,) and shape == io.shape[1:]


def _runs(io: IoInfo, shape: Shape) -> tuple[int, int]:
    """(runs, samples in each) of an input's array; raises UserError if it is no row of samples.

    A model of batch B takes B along the first axis at once; arrays of whole inputs count as one.
    """
    if shape[1:] == io.shape and shape:
        return shape[0], 1
    batch = io.shape[0] if io.shape else 1
    if not shape or not io.shape or shape[1:] != io.shape[1:]:
        many = f"[{', '.join(map(str, ('N', *io.shape[1:])))}]"
        whole = f", N a multiple of {batch}," if batch > 1 else ""
        raise UserError(
            f"input '{io.name}': shape {list(shape)}; give {list(io.shape)} for one sample or "
            f"{many}{whole} for many"
        )
    if shape[0] % batch:
        samples = "1 sample" if shape[0] == 1 else f"{shape[0]} samples"
        raise UserError(
            f"input '{io.name}': {samples} for a model that takes {batch} at a time; "
            f"give a multiple of {batch}"
        )
    return shape[0] // batch, batch
