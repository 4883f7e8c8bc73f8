"""The accuracy floor of a model with state: errors that the state carries on count, too.

They count whether the file keeps the state or the caller feeds it back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from ...calibration import Samples
from ..accuracy import QualityMeter
from ..ir import Graph
from ..progress import Progress, silent
from ..quantize import Quantized
from ..quantize.mixed_precision.accuracy_floor import Found
from ..quantize.quality import Quality
from ..runtime import Session
from .state_samples import (
    InSequence,
    follows_of,
    interface_of,
    starts_of,
    with_states,
)

LEAST_LOSS = 1e-3
"""Of single steps (Quality.loss), so that a factor to it is finite."""


def over_sequences(
    graph: Graph,
    file: bytes | Session,
    samples: Samples,
    frames: int | None,
    progress: Progress = silent,
    outliers: Collection[int] = (),
) -> Quality | None:
    """The quality of a file over sequences, each model with its own states: those of the float
    `graph`. The file keeps them, and a sequence has so many `frames`; or a caller feeds them back,
    and sequences begin where those of the samples do. Samples that are `outliers` are passed over.

    None for a graph without state, for samples that can be read only once, and if there is nothing
    to measure.
    """
    if not follows_of(graph) or not samples.reiterable:
        return None
    session = file if isinstance(file, Session) else Session(file, numbers=True)
    follows, inputs = follows_of(graph), {i.name for i in session.inputs}
    fed_back = {x: y for x, y in follows.items() if x in inputs}
    starts = starts_of(graph, samples, outliers) if fed_back else frames
    if starts == frozenset():
        return None
    # The states themselves count where a caller has nothing else.
    hidden = set(fed_back.values()) if interface_of(graph).outputs else set[str]()
    meter = QualityMeter(graph, None)
    runner = InSequence(session, follows, starts, session.reset, fed_back)
    whole = with_states(graph, samples, starts, outliers)
    for i, sample in enumerate(whole):
        if i in outliers:
            runner.pass_over(sample)
            continue
        found = runner.run(sample)
        meter.add(sample, {k: v for k, v in found.items() if k not in hidden})
        progress("running sequences", i + 1, samples.length or 0)
    return meter.quality()


def lower(steps: Quality, sequences: Quality | None) -> Quality:
    """The quality of steps that begin with the float model's state, or that over sequences where
    its level is lower."""
    if sequences is None or not sequences.is_below(steps):
        return steps
    return _of_calibration(sequences, steps)


def _of_calibration(sequences: Quality, steps: Quality) -> Quality:
    """The figures over sequences, with what `steps` says of the samples."""
    return replace(
        steps,
        sqnr_db=sequences.sqnr_db,
        temperature=sequences.temperature,
        answers=sequences.answers,
        masks=sequences.masks,
        detections=sequences.detections,
        added=sequences.added,
        leveled=sequences.leveled,
        relative=sequences.relative,
        rebuilt=sequences.rebuilt,
        varying=sequences.varying,
        between=sequences.between,
        held_out=False,
        chosen=False,
        sequences=True,
    )


def keep_floor_with_state(
    found: Found,
    promote: Callable[[Quantized, float], Found],
    judge: Callable[[Quantized], Quality | None],
) -> Found:
    """`found`, the best for single steps, or what `promote` makes of it for errors that are larger
    by a factor, as they are where the state carries them on. `judge` is `over_sequences` of a
    quantization, or None without state."""
    done, before, steps = found
    carried = lower(steps, judge(done))
    if carried is steps:
        return found
    more, promotion, _ = promote(done, carried.loss() / max(steps.loss(), LEAST_LOSS))
    after = None if promotion is None else judge(more)
    if promotion is None or after is None or after.loss() >= carried.loss():
        return done, before, carried
    after = _of_calibration(after, steps)
    int8 = promotion.int8 if before is None else before.int8
    return more, replace(promotion, before=carried, after=after, int8=int8), after
