"""What `quantize` made."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from .accuracy import Explanation
from .compress import StoredLayer
from .evaluation.answers import Answers
from .needs import Need
from .quantize import Decision, Mixed
from .quantize.mixed_precision.accuracy_floor import Promotion
from .quantize.quality import OnLowAccuracy, Quality
from .quantize.rates.search import Rates


@dataclass(frozen=True)
class Quantized:
    """What `quantize` made. `observer` and `effort` are those asked for; `mixed` is there with a
    budget.

    `sqnr_db` is on the `kept_samples` of `samples`. `held_out`: each half of them with weights
    rounded for the other; False: with those of the file, which are rounded for all of them; None
    where weights are the nearest.
    `notes` are what to know of the model and the samples; `explanation` attributes the loss on some
    of the samples. `targets` is what the file takes on each of those that were asked for
    (`for_targets`: measured), else on all, with a budget of bytes. `quality` is
    the verdict and its figures; `promotion` says what was taken off int8 for it, if anything was;
    `below_floor`: the file is broken, and the command was to prevent that. `suspects` names samples
    that are unlike all others.
    `rates` says what coarser weights brought, where `compress` asked for them.
    `layers_stored` are those whose weights lie behind a codec, `uses` how often a run takes each.
    `answers` is top-1 of the samples, where they say their classes.
    `verdict` says it in words: the verdict, causes, what was promoted, what to do.
    `counted_bytes` is the file without provenance and names of operators, as budgets count it.
    """

    output: str
    file_bytes: int
    counted_bytes: int
    ops: dict[str, dict[str, int]]
    observer: str
    effort: str
    samples: int
    kept_samples: int
    seconds: float
    sqnr_db: float
    held_out: bool | None
    arena_bytes: int
    decisions: list[Decision]
    notes: list[str]
    explanation: Explanation
    quality: Quality
    report: str | None = None
    mixed: Mixed | None = None
    targets: list[Need] = field(default_factory=list)
    for_targets: bool = False
    promotion: Promotion | None = None
    on_low_accuracy: OnLowAccuracy = "promote"
    below_floor: bool = False
    suspects: list[str] = field(default_factory=list)
    verdict: list[str] = field(default_factory=list)
    layers_stored: list[StoredLayer] = field(default_factory=list)
    rates: Rates | None = None
    answers: Answers | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {
            "mixed": None if self.mixed is None else self.mixed.to_json(),
            "quality": self.quality.to_json(),
            "promotion": None if self.promotion is None else self.promotion.to_json(),
            "answers": None if self.answers is None else self.answers.to_json(),
        }
