"""Which dimensions of a model vary, what they are called, and at which sizes it is looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import product
from pathlib import Path

from ..errors import UserError
from ..format.varying import Symbol
from ..ir import Array
from ..onnx_import import input_dims

MOST_SYMBOLS = 16
"""Of a file (runtime_c/src/model/bind.c)."""

SPREAD = 6
"""How many sizes apart from each other a model is looked at, besides those next to the largest."""

NEXT = 6
"""How many sizes from the largest downwards: they tell how divisions round."""


@dataclass(frozen=True)
class Range:
    """The sizes of a dimension: lowest, lowest + step, ... up to highest."""

    lowest: int
    highest: int
    step: int = 1

    def __str__(self) -> str:
        return f"{self.lowest}..{self.highest}{f':{self.step}' if self.step > 1 else ''}"


Shapes = Mapping[str, Sequence[int | Range]]
Dims = Mapping[str, int | Range]


@dataclass(frozen=True)
class Sizes:
    """The symbols of a model, and which shapes and named dimensions sizes of them are."""

    symbols: tuple[Symbol, ...]
    shapes: Mapping[str, tuple[int | str, ...]]
    dims: Mapping[str, int | str]
    axes: Mapping[tuple[str, int], int] = field(default_factory=dict)
    """By input and axis, the symbol that it is the size of."""

    def of(self, feed: Mapping[str, Array]) -> tuple[int, ...]:
        """The sizes that the shapes of a feed say. Raises UserError where two inputs say two."""
        found: dict[int, int] = {}
        for (name, axis), symbol in self.axes.items():
            n = feed[name].shape[axis]
            if found.setdefault(symbol, n) != n:
                called = self.symbols[symbol].name
                raise UserError(f"input '{name}': {called} is {n}, and {found[symbol]} in another")
        return tuple(found.get(i, s.highest) for i, s in enumerate(self.symbols))

    def ranges_of(self, name: str, shape: Sequence[int]) -> tuple[range, ...]:
        """The sizes of each axis of an input that has this shape where none varies."""
        known = ((self.axes.get((name, i)), n) for i, n in enumerate(shape))
        return tuple(range(n, n + 1) if i is None else self.symbols[i].sizes for i, n in known)

    def at(self, sizes: Sequence[int]) -> tuple[dict[str, tuple[int, ...]], dict[str, int]]:
        """(shapes, dims) as the importer takes them."""
        known = {s.name: n for s, n in zip(self.symbols, sizes, strict=True)}
        shapes = {
            name: tuple(known[d] if isinstance(d, str) else d for d in shape)
            for name, shape in self.shapes.items()
        }
        dims = {name: known[d] if isinstance(d, str) else d for name, d in self.dims.items()}
        return shapes, dims

    @property
    def largest(self) -> tuple[int, ...]:
        return tuple(s.highest for s in self.symbols)

    def text(self, sizes: Sequence[int]) -> str:
        return ", ".join(f"{s.name}={n}" for s, n in zip(self.symbols, sizes, strict=True))

    def samples(self) -> list[tuple[int, ...]]:
        """Sizes to look at besides the largest, those of each symbol in another order."""
        each = [_some(s.sizes) for s in self.symbols]
        count = max(len(sizes) for sizes in each)
        found = []
        for i in range(count):
            point = tuple(sizes[(i * (2 * k + 1) + k) % len(sizes)] for k, sizes in enumerate(each))
            if point not in found and point != self.largest:
                found.append(point)
        lowest = tuple(s.lowest for s in self.symbols)
        return found if lowest in found or lowest == self.largest else [*found, lowest]

    def downwards(self) -> Iterator[tuple[int, ...]]:
        """All sizes from the largest on, those of the last symbol first."""
        return product(*(reversed(s.sizes) for s in self.symbols))


def _some(sizes: range) -> list[int]:
    last = len(sizes) - 1
    spread = {last * i // SPREAD for i in range(SPREAD + 1)}
    near = {max(0, last - i) for i in range(NEXT)}
    return [sizes[i] for i in sorted(spread | near | {min(1, last), min(2, last)})]


def sizes_of(model: str | Path, shapes: Shapes, dims: Dims) -> Sizes:
    """What `--shape` and `--dim` say. Raises UserError for a name that is not the model's, and for
    a dimension with two ranges."""
    inputs = input_dims(model)
    named = {d for found in inputs.values() for d in found or () if isinstance(d, str)}
    ranges: dict[str, Range] = {}

    def symbol(name: str, found: int | Range) -> int | str:
        if isinstance(found, int):
            return found
        if ranges.setdefault(name, found) != found:
            raise UserError(f"{model}: '{name}' has two ranges, {ranges[name]} and {found}")
        return name

    for name in dims:
        if name not in named:
            near = get_close_matches(name, named, 1)
            known = ", ".join(sorted(named)) or "none"
            hint = f"did you mean '{near[0]}'?" if near else f"named dimensions: {known}"
            raise UserError(f"{model}: --dim {name}={dims[name]}: no dimension '{name}'; {hint}")
    by_name = {name: symbol(name, d) for name, d in dims.items()}
    by_input = {}
    for name, shape in shapes.items():
        theirs = inputs.get(name) or ()
        of_model = [d if isinstance(d, str) else "" for d in theirs]
        of_model += [""] * (len(shape) - len(of_model))
        by_input[name] = tuple(symbol(of_model[i] or f"{name}.{i}", d) for i, d in enumerate(shape))
    if len(ranges) > MOST_SYMBOLS:
        raise UserError(f"{model}: {len(ranges)} dimensions vary; at most {MOST_SYMBOLS} may")
    for name, r in ranges.items():
        if len(range(r.lowest, r.highest + 1, r.step)) < 2 or (r.highest - r.lowest) % r.step:
            raise UserError(
                f"{model}: {name}={r}: no range of sizes; write LOWEST..HIGHEST or "
                "LOWEST..HIGHEST:STEP, which ends at HIGHEST"
            )
    symbols = tuple(Symbol(n, r.lowest, r.highest, r.step) for n, r in ranges.items())
    index = {s.name: i for i, s in enumerate(symbols)}
    axes = {
        (name, i): index[called]
        for name, theirs in inputs.items()
        for i, d in enumerate(by_input.get(name) or theirs or ())
        if (called := by_name.get(str(d), d)) in index
    }
    return Sizes(symbols, by_input, by_name, axes)


def sizes_asked(model: str | Path, shapes: Shapes | None, dims: Dims | None) -> Sizes:
    """As sizes_of, which reads the model; not where no dimension is named or varies."""
    ranges = any(isinstance(d, Range) for shape in (shapes or {}).values() for d in shape)
    if dims or ranges:
        return sizes_of(model, shapes or {}, dims or {})
    given = {k: tuple(int(str(d)) for d in v) for k, v in (shapes or {}).items()}
    return Sizes((), given, {})
