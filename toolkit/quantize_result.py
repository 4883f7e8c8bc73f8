"""The result of `quantize`."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from .accuracy import Explanation
from .compress import StoredLayer
from .evaluation.answers import Answers
from .needs import Need
from .quantize import Decision, Mixed
from .quantize.mixed_precision.promotion import Promotion
from .quantize.quality import OnLowAccuracy, Quality
from .quantize.rates.search import Rates


@dataclass(frozen=True)
class Quantized:
    """The result of `quantize`.

    counted_bytes  size of the file without provenance and operator names, as budgets count it
    observer, effort  as requested
    kept_samples   number of `samples` that `sqnr_db` and `quality` are measured on
    held_out       True: `sqnr_db` is cross-validated, each half of the samples with weights rounded
                   for the other half; False: with the file's weights, rounded for all samples;
                   None: weights are rounded to nearest
    notes          remarks on the model and the samples
    explanation    error of each layer, with causes, on some of the samples; None with effort
                   "fast", without every_layer and a report
    quality        the verdict and its figures; `verdict` has it as text, with causes, promotions
                   and remedies
    promotion      operators promoted to int16 or float32 for the accuracy floor, if any
    below_floor    the file is broken, and on_low_accuracy is not "warn"
    suspects       samples that are outliers, and states that the file should keep
    mixed          the result of a search with a budget
    targets        sizes on the requested targets (`for_targets`: measured), or on all targets with
                   a budget of bytes
    layers_stored  layers with compressed weights
    rates          results of coarser weights, with `compress`
    answers        top-1 on the samples, if these have labels
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
    explanation: Explanation | None
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
