"""What a model is judged by: a metric by name, or a function of the user's own."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import UserError
from ..ir import Array
from ..user_code import importing_beside, module_of, said, where
from .named_metrics import NAMED

Arrays = Mapping[str, Array]
MetricFunction = Callable[[dict[str, Array], dict[str, Array], dict[str, Array]], float]
"""f(outputs, references, data) -> a finite number, higher is better. docs/quantization.md."""
FUNCTION = "metric"
FORM = "FILE.py[:FUNCTION]"
SAME = 1e-6
"""Values of one metric that differ by no more than this part are the same, summed otherwise."""


@dataclass(frozen=True)
class Metric:
    """A metric and what it is called; `labels` is the array that a named one takes as the truth.

    `in_points`: it is top-1, whose drop is counted in points of 100 and never in percent. `own`: it
    is the user's function.
    """

    name: str
    function: MetricFunction
    labels: str | None = None
    in_points: bool = False
    file: Path | None = None
    own: bool = False

    def __call__(self, outputs: Arrays, references: Arrays, data: Arrays, whose: str) -> float:
        """The value for `whose` outputs. Raises UserError for what the user's function does."""
        try:
            with importing_beside(self.file):
                value: Any = self.function(dict(outputs), dict(references), dict(data))
        except UserError:
            raise
        except (Exception, SystemExit) as why:  # the user's code may raise anything
            have = f"; data has {', '.join(data)}" if isinstance(why, KeyError) else ""
            text = f"metric {self.name}: {where(why, self.file)}{said(why)}{have}"
            raise UserError(f"{text} (on the outputs of {whose})") from why
        number = _number(value)
        if number is None or not math.isfinite(number):
            shown = f"a {type(value).__name__}" if number is None else f"{number}"
            raise UserError(
                f"metric {self.name}: it returned {shown} for the outputs of {whose}; "
                "return one finite number, higher is better"
            )
        return number

    def of_floats(self, references: Arrays, data: Arrays) -> float:
        """The float model's own value. Raises UserError as a call does, and for chance in it.

        A drop is a difference of two values: one that comes out otherwise each time is none.
        """
        whose = "the float model"
        value = self(references, references, data, whose)
        again = self(references, references, data, whose) if self.own else value
        if not math.isclose(value, again, rel_tol=SAME):
            raise UserError(
                f"metric {self.name}: it returned {value:.8g} and then {again:.8g} for the same "
                "outputs of the float model; it must depend on its arguments only: seed random "
                "numbers in the function, and keep no state between calls"
            )
        return value


def open_metric(spec: str | Path | MetricFunction | None, labels: str | None = None) -> Metric:
    """The metric that `spec` means: a name of NAMED, FILE.py[:FUNCTION], a callable; None is top1.

    Runs the user's file. Raises UserError where that fails, and for labels that nobody would read.
    """
    if callable(spec):
        called = getattr(spec, "__qualname__", type(spec).__name__)
        return Metric(called, _own(spec, labels), own=True)
    text = "top1" if spec is None else str(spec)
    if text in NAMED:
        named = NAMED[text]
        if labels is not None and not named.takes_labels:
            raise UserError(f"metric {text} compares with the float model only; omit the labels")
        return Metric(text, named.bound(labels), labels, in_points=text == "top1")
    path, function = _split(text)
    if not function.isidentifier():
        raise UserError(
            f"metric {text}: '{function}' after the colon is not a function name; use {path} for "
            f"its function {FUNCTION}, or {path}:FUNCTION"
        )
    if path.suffix != ".py":
        raise UserError(f"no metric '{text}'; there are {', '.join(NAMED)}, and {FORM} of your own")
    found = getattr(module_of(path, f"a custom metric is {FORM}"), function, None)
    if not callable(found):
        what = "is not a function" if found is not None else "is not there"
        raise UserError(
            f"{path}: '{function}' {what}; define {function}(outputs, references, data), or name "
            f"another one: {path}:FUNCTION"
        )
    return Metric(f"{path.name}:{function}", _own(found, labels), file=path, own=True)


def _own(function: Any, labels: str | None) -> MetricFunction:
    if labels is not None:
        raise UserError(
            "labels apply to built-in metrics; a custom metric receives every array of the "
            "samples' .npz in `data`: omit the labels"
        )
    found: MetricFunction = function
    return found


def _split(text: str) -> tuple[Path, str]:
    head, colon, tail = text.rpartition(":")
    if colon and head.endswith(".py"):
        return Path(head), tail
    return Path(text), FUNCTION


def _number(value: Any) -> float | None:
    """A number of Python's or numpy's, or None."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if not isinstance(value, numbers.Real | np.bool_):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value == abs(value) else -math.inf
