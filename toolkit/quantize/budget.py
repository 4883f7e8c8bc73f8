"""Limits on a quantized model, and the result of the search within them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from ..errors import UserError
from ..numerics import Precision
from .option import option


class Sizes(NamedTuple):
    """Sizes of a file: bytes of read-only memory, bytes of RAM, and the instructions of one
    inference on a device, 0 if they are not limited."""

    storage: int
    memory: int
    instructions: int = 0


@dataclass(frozen=True)
class Budget:
    """Limits on a quantized model; None means no limit.

    `max_drop` is "0.5%" of the float model's metric, or 0.5 in the metric's unit; for top-1 both
    are percentage points. `min_sqnr` is of the worst output in dB (Score.least_db). `flash`
    replaces `max_bytes`, `ram` replaces `max_arena`. Size limits apply to each of the devices
    `targets`, or to the generic file without `targets`. `max_instructions` requires `targets`.
    """

    max_drop: float | str | None = field(
        default=None,
        metadata=option(
            "Maximum drop of the metric: 0.5% (relative) or 0.5 (absolute; top-1: percentage "
            "points either way). Layers become int16 or float32 as needed.",
            value="drop",
        ),
    )
    min_sqnr: float | None = field(
        default=None,
        metadata=option("Minimum SQNR of every output in dB.", value="decibels"),
    )
    max_bytes: int | None = field(
        default=None,
        metadata=option(
            "Maximum file size, without provenance and names. The least sensitive weights become "
            "4-bit.",
            value="bytes",
        ),
    )
    max_arena: int | None = field(
        default=None,
        metadata=option(
            "Maximum activation memory, e.g. 64K or 1.5M; of each --target, if given.",
            value="bytes",
        ),
    )
    flash: int | None = field(
        default=None,
        metadata=option(
            "Maximum flash on each --target, e.g. 256K: the packed model and the code.",
            value="bytes",
        ),
    )
    ram: int | None = field(
        default=None,
        metadata=option(
            "Maximum RAM on each --target, e.g. 64K: arena, state, session and stack.",
            value="bytes",
        ),
    )
    targets: tuple[str, ...] = ()
    max_instructions: int | None = field(
        default=None,
        metadata=option(
            "Maximum instructions of one inference on each --target, counted in its emulator: "
            "limits what --compress, int16 and float32 add.",
            least=1,
        ),
    )

    def __post_init__(self) -> None:
        # Numbers of numpy, which JSON has not, become Python's.
        drop, sqnr = self.max_drop, self.min_sqnr
        if drop is not None:
            number, _ = parse_drop(drop)
            object.__setattr__(self, "max_drop", drop if isinstance(drop, str) else number)
        if sqnr is not None:
            object.__setattr__(self, "min_sqnr", _number(sqnr))
            if not math.isfinite(_number(sqnr)):
                raise UserError(f"min_sqnr is {sqnr}; give decibels, 30 for example")
        for one, other in (("max_bytes", "flash"), ("max_arena", "ram")):
            if getattr(self, one) is not None and getattr(self, other) is not None:
                raise UserError(f"{one} and {other} both limit the same memory: give one of them")
        for name in ("max_bytes", "max_arena", "flash", "ram", "max_instructions"):
            value = getattr(self, name)
            if value is not None:
                if not 1 <= _number(value) < math.inf:
                    unit = "instruction" if name == "max_instructions" else "byte"
                    raise UserError(f"{name} is {value}; give 1 {unit} or more")
                object.__setattr__(self, name, int(value))

    @property
    def drop_limit(self) -> float:
        """The number of max_drop; infinity without one."""
        return math.inf if self.max_drop is None else parse_drop(self.max_drop)[0]

    @property
    def drop_in_percent(self) -> bool:
        return self.max_drop is not None and parse_drop(self.max_drop)[1]

    def given(self) -> dict[str, Any]:
        """The limits that count, by name, and the targets, if any, that they are of."""
        return {k: v for k, v in asdict(self).items() if v is not None and v != ()}

    def in_words(self, points: bool = False) -> str:
        """The limits that count; `points`: the drop is one in points, whether or not as percent."""
        lost = f"{self.drop_limit:g}"
        lost += " points" if points else "%" if self.drop_in_percent else ""
        words = {
            "max_drop": f"at most {lost} lost",
            "min_sqnr": "at least {:g} dB",
            "max_bytes": "a file of at most {:,} bytes",
            "max_arena": "an arena of at most {:,} bytes",
            "flash": "at most {:,} bytes of flash",
            "ram": "at most {:,} bytes of RAM",
            "max_instructions": "at most {:,} instructions",
        }
        limits = ", ".join(words[k].format(v) for k, v in self.given().items() if k in words)
        devices = f" on {', '.join(self.targets)}" if self.targets and self.limits_size else ""
        return limits + devices

    @property
    def limits_any(self) -> bool:
        """Whether there is a limit at all."""
        return bool(self.given().keys() - {"targets"})

    @property
    def size_limits(self) -> tuple[int | None, int | None, int | None]:
        """The most of what Sizes has; what is counted is as the fields say."""
        storage = self.max_bytes if self.max_bytes is not None else self.flash
        memory = self.max_arena if self.max_arena is not None else self.ram
        return storage, memory, self.max_instructions

    @property
    def counts(self) -> tuple[str, str, str]:
        """What is counted of Sizes, in a word."""
        storage = "file" if self.flash is None else "flash"
        return storage, "arena" if self.ram is None else "RAM", "instructions"

    @property
    def limits_size(self) -> bool:
        """Whether the file, its memory or its instructions have a limit."""
        return self.size_limits != (None, None, None)

    def holds(self, sizes: Sizes) -> bool:
        """Whether these sizes, counted as the limits are, are within them."""
        pairs = zip(sizes, self.size_limits, strict=True)
        return all(most is None or size <= most for size, most in pairs)


def _number(value: Any) -> float:
    """NaN of what is no number."""
    try:
        return math.nan if isinstance(value, str) else float(value)
    except (ValueError, TypeError):
        return math.nan


def parse_drop(text: float | str) -> tuple[float, bool]:
    """(the number, whether it is percent). Raises UserError for what is no drop."""
    percent = isinstance(text, str) and text.strip().endswith("%")
    try:
        number = float(text.strip().removesuffix("%") if isinstance(text, str) else text)
    except (ValueError, TypeError):
        number = math.nan
    if not (0 <= number <= 100 if percent else 0 <= number < math.inf):
        raise UserError(
            f"max_drop is '{text}'; write it as 0.5%, from 0 to 100, or as a number from 0 in the "
            "metric's own unit"
        )
    return number, percent


@dataclass(frozen=True)
class Judged:
    """A metric of the float model and of a file, on `samples` of `of`, spread evenly.

    `unit` is that of drops: "points" of top-1, "%" of the float model's value, "" the metric's own.
    """

    metric: str
    unit: str
    real: float
    edge: float
    samples: int
    of: int

    @property
    def drop_percent(self) -> float | None:
        """What the file loses, in percent of the size of the float model's value; None of 0."""
        return 100 * (self.real - self.edge) / abs(self.real) if self.real else None

    def __str__(self) -> str:
        some = f"{self.of} samples"
        if self.samples < self.of:
            some = f"{self.samples} of {self.of} samples, spread evenly"
        drop = self.real - self.edge
        lost = f"{drop:.2f} points" if self.unit == "points" else f"{drop:.5g}"
        if self.unit != "points" and self.drop_percent is not None:
            lost += f", {self.drop_percent:.3g} %"
        return f"{self.metric} on {some}: float {self.real:.6g}, edge {self.edge:.6g}, lost {lost}"

    def to_json(self) -> dict[str, Any]:
        """As documented for --json."""
        return {
            "name": self.metric,
            "unit": self.unit,
            "float": self.real,
            "edge": self.edge,
            "drop": self.real - self.edge,
            "drop_percent": self.drop_percent,
            "samples": self.samples,
            "of": self.of,
        }


@dataclass(frozen=True)
class Point:
    """One mix of precisions: what it takes, what it keeps, and what is not int8 in it.

    Bytes are counted as the budget's limits are: of the generic file, or of the target that takes
    most; with code where `flash` is limited, with session and stack where `ram` is.
    `drop` is what the metric loses, in the unit of `Judged`. It and the SQNR are None where they
    were not needed; instructions, of the target that takes most, where none were counted.
    """

    file_bytes: int
    arena_bytes: int
    sqnr_db: float | None
    drop: float | None
    what: str
    instructions: int | None = None

    def dominates(self, other: Point) -> bool:
        """No worse in size, memory, instructions, and noise or loss as known of both; better in one
        of them."""
        mine, its = ([float(p.file_bytes), p.arena_bytes] for p in (self, other))
        if self.instructions is not None and other.instructions is not None:
            mine, its = [*mine, self.instructions], [*its, other.instructions]
        if self.drop is not None and other.drop is not None:
            mine, its = [*mine, self.drop], [*its, other.drop]
        elif self.sqnr_db is not None and other.sqnr_db is not None:
            mine, its = [*mine, -self.sqnr_db], [*its, -other.sqnr_db]
        return mine != its and all(a <= b for a, b in zip(mine, its, strict=True))

    def equals(self, other: Point) -> bool:
        """The same in size, memory, and noise or loss as known of both; in words, if neither is."""
        if (self.file_bytes, self.arena_bytes) != (other.file_bytes, other.arena_bytes):
            return False
        if self.drop is not None and other.drop is not None:
            return self.drop == other.drop
        if self.sqnr_db is not None and other.sqnr_db is not None:
            return self.sqnr_db == other.sqnr_db
        return self.what == other.what


@dataclass(frozen=True)
class Mixed:
    """What the search found: `met` or not, `chosen` is the best.

    `pareto` has the mixes tried that no other beats, besides `chosen` and `int8`. `nodes` are those
    that are not int8, by name of the node. Every sqnr_db is of the worst output on all kept
    samples; `held_out`: of rounded weights on each half of them with those for the other. `judged`
    is there with a limit of the drop.
    """

    budget: Budget
    met: bool
    chosen: Point
    int8: Point
    pareto: list[Point]
    nodes: Mapping[str, Precision]
    trials: int
    held_out: bool = False
    judged: Judged | None = None

    @property
    def limits(self) -> str:
        """The budget in words."""
        return self.budget.in_words(self.judged is not None and self.judged.unit == "points")

    def to_json(self) -> dict[str, Any]:
        """As documented for `quantize --json`."""
        told = asdict(self)
        told["budget"] = self.budget.given()
        told["budget_met"] = told.pop("met")
        told["metric"] = None if self.judged is None else self.judged.to_json()
        del told["judged"]
        return told


def pareto(points: list[Point], always: list[Point]) -> list[Point]:
    """The points that no other dominates, and `always`, by growing file and arena.

    Of those that are equal one, of which most is known.
    """
    best = [p for p in points if not any(q.dominates(p) for q in points)]
    found = list(dict.fromkeys(always))
    for point in sorted(best, key=lambda p: p.sqnr_db is None):
        if not any(point.equals(p) for p in found):
            found.append(point)
    return sorted(found, key=lambda p: (p.file_bytes, p.arena_bytes))
