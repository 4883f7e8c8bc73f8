"""Numbers -> HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..accuracy import LayerCost
from ..accuracy.formatting import gain
from ..compress import StoredLayer
from ..decibels import in_words, level
from ..inspection import Inspection, MemoryRow
from ..needs import Need
from ..quantize import Mixed
from ..quantize.rates.search import Rates

_PICTURE_WIDTH, _PICTURE_HEIGHT = 900, 320
_GOOD_DB, _POOR_DB = 30.0, 15.0
_COSTLIEST = 12


@dataclass(frozen=True)
class OutputRow:
    """How far an output of the integer model is from the float model's, over the samples."""

    name: str
    sqnr_db: float
    cosine: float
    max_abs_error: float


@dataclass(frozen=True)
class LayerRow:
    """A tensor after quantization: how it is held, what is left of the float signal, and why."""

    name: str
    operator: str
    dtype: str
    macs: int
    bytes_moved: int
    low: float
    high: float
    sqnr_db: float | None
    cost: LayerCost | None = None


@dataclass(frozen=True)
class ReportData:
    """Everything the report shows."""

    title: str
    inspection: Inspection
    float_bytes: int
    observer: str
    effort: str
    samples: int
    outputs: Sequence[OutputRow]
    layers: Sequence[LayerRow]
    summary: Sequence[str]
    watched: int
    decisions: Sequence[str]
    oracle: str
    notes: Sequence[str] = ()
    verdict: Sequence[str] = ()
    mixed: Mixed | None = None
    targets: list[Need] = field(default_factory=list)
    rounded: str = ""
    """What to say of weights that are rounded for the samples."""
    stored: Sequence[StoredLayer] = ()
    rates: Rates | None = None


@dataclass(frozen=True)
class _Box:
    x: float
    y: float
    width: float
    height: float
    hue: int
    title: str


def render(data: ReportData) -> str:
    """The report as one HTML document."""
    import jinja2  # takes 3 MiB, which commands without a report need not

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["db"] = in_words
    environment.filters["bytes"] = _bytes
    environment.filters["count"] = lambda n: "not measured" if n is None else f"{n:,}"
    environment.filters["counted"] = lambda n: "" if n is None else f"{n:,}"
    environment.filters["number"] = lambda x: f"{x:.5g}"
    environment.filters["grade"] = _grade
    environment.filters["level"] = level
    environment.filters["gain"] = gain
    template = environment.get_template("report.html")
    found = data.inspection
    return template.render(
        data=data,
        found=found,
        costliest=sorted(
            (r.cost for r in data.layers if r.cost is not None and r.cost.share),
            key=lambda c: -(c.share or 0.0),
        )[:_COSTLIEST],
        boxes=_memory_picture(found.memory_map, found.arena_bytes),
        width=_PICTURE_WIDTH,
        height=_PICTURE_HEIGHT,
        bound_y=_PICTURE_HEIGHT * (1 - found.arena_bound_bytes / max(1, found.arena_bytes)),
    )


def _memory_picture(rows: Sequence[MemoryRow], arena: int) -> list[_Box]:
    """Time to the right, addresses upwards: one box per tensor."""
    steps = max((r.last for r in rows), default=0) + 1
    dx, dy = _PICTURE_WIDTH / steps, _PICTURE_HEIGHT / max(1, arena)
    return [
        _Box(
            x=r.first * dx,
            y=_PICTURE_HEIGHT - (r.offset + r.bytes) * dy,
            width=(r.last - r.first + 1) * dx,
            height=r.bytes * dy,
            hue=i * 47 % 360,
            title=f"{r.name}: {r.bytes} bytes at {r.offset}, steps {r.first} to {r.last}",
        )
        for i, r in enumerate(rows)
    ]


def _bytes(n: int) -> str:
    return f"{n} B" if n < 1024 else f"{n / 1024:.1f} KiB"


def _grade(x: float | None) -> str:
    if x is None:
        return "none"
    return "good" if x >= _GOOD_DB else "poor" if x < _POOR_DB else "fair"
