"""A model at several sizes -> one file whose dimensions vary.

The model is read, optimized and lowered at the largest sizes and at some others, as static models
are. Where the operators are the same, each number that differs has to be an expression of the
sizes that gives it at all of them. Sizes at which the operators differ (at 1, a Transpose moves
nothing) are run: the file at these sizes has to give what the static model gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np

from ..build import build_file, build_model
from ..errors import UserError
from ..format.model import ABSENT, EdgeModel, IoRecord, OpRecord
from ..format.schema import BLOB_FIELDS, OPTIONAL, OpKind, Place
from ..format.structs import NO_BLOB
from ..format.varying import Expression, Varying
from ..format.writer import write
from ..ir import Graph
from ..ops.move._repeats import repeated
from ..runtime import Model, Session
from .fit import Fits, Numbers
from .sizes import Sizes

FEWEST = 5
"""Sizes at which the operators have to be the same."""
MOST_MORE = 24
"""Sizes that are looked at besides, where they are the same at fewer."""

CLOSE = 1e-4
"""How far, of the largest value, float outputs may be from those of other operators."""
ROUGH = 0.25
"""The same, of the norm, of a quantized model, whose other operators are on other grids; that its
float model has the values of these sizes is known then."""


def varying_model(
    sizes: Sizes,
    whole: Graph,
    make: Callable[[Sequence[int]], Graph],
    name: str,
    rough: bool = False,
) -> EdgeModel:
    """The file of the model that `make` reads at sizes of its symbols and that `whole` is at the
    largest, for which memory is planned. `name` is the model's, in errors: UserError for what
    cannot vary. At sizes where operators are others, outputs may differ by CLOSE, or ROUGH."""

    def graph(at: Sequence[int]) -> Graph:
        try:
            return repeated(make(at))
        except UserError as why:
            raise UserError(
                f"{why}\nat {sizes.text(at)}; if the model supports only some sizes, use "
                "LOW..HIGH:STEP"
            ) from why

    if whole.states or whole.empty_inputs or whole.empty_outputs:
        raise UserError(
            f"{name}: variable dimensions cannot be combined with state, streaming, or empty "
            "inputs and outputs; fix them with --shape"
        )
    top = build_model(repeated(whole))
    for op in top.ops:
        if op.kind == OpKind.Custom:
            raise UserError(
                f"{name}: {op.name}: custom operators are not supported with variable dimensions; "
                "fix them with --shape"
            )
        if op.kind == OpKind.Region:
            raise UserError(
                f"{name}: {op.name}: loops and branches that cannot be unrolled are not supported "
                "with variable dimensions; fix them with --shape"
            )
    looked = _Looked([_Seen(sizes.largest, top, {})], [])
    wanted = sizes.samples()
    while True:
        for at in wanted:
            looked.look(build_model(graph(at), compact=False), at)
        enough = min(FEWEST, len(sizes.samples()) + 1)
        for at in islice(sizes.downwards(), MOST_MORE):
            if len(looked.alike) < enough and at not in looked.sizes:
                looked.look(build_model(graph(at), compact=False), at)
        if len(looked.alike) < enough:
            at, node = looked.others[0]
            raise UserError(
                f"{name}: {node}: other operators at {sizes.text(at)} than at "
                f"{sizes.text(sizes.largest)}; fix the dimension with --shape, or raise the lowest "
                "size"
            )
        fits = Fits([s.at for s in looked.alike], sizes.symbols)
        made = _varied(_Fitting(sizes, top, looked.alike, fits, name))
        wanted = [at for at in _in_doubt(sizes, fits) if at not in looked.sizes]
        if not wanted:
            break
    for at, node in looked.others:
        static = build_file(graph(at), compact=False)
        _compare(made, static, at, f"{name}: {node}", sizes, rough)
    return made


def _in_doubt(sizes: Sizes, fits: Fits) -> list[tuple[int, ...]]:
    """Sizes at which expressions that fit so far differ, the others at their largest."""
    return [
        tuple(n if i == symbol else most for i, most in enumerate(sizes.largest))
        for symbol, n in sorted(fits.doubts)
    ]


@dataclass(frozen=True)
class _Seen:
    """The model at some sizes; which of its tensors each of the largest sizes' is."""

    at: tuple[int, ...]
    model: EdgeModel
    tensor: Mapping[int, int]


@dataclass(frozen=True)
class _Looked:
    """The sizes at which the operators are those of the largest, and others with one that is
    not."""

    alike: list[_Seen]
    others: list[tuple[tuple[int, ...], str]]

    def look(self, model: EdgeModel, at: tuple[int, ...]) -> None:
        top = self.alike[0].model
        different = _difference(top, model)
        tensor = {} if different else _tensors(top, model)
        different = different or _collapsed(top, model, tensor)
        if different is None:
            self.alike.append(_Seen(at, model, tensor))
        else:
            self.others.append((at, different))

    @property
    def sizes(self) -> set[tuple[int, ...]]:
        return {s.at for s in self.alike} | {at for at, _ in self.others}


@dataclass(frozen=True)
class _Fitting:
    sizes: Sizes
    top: EdgeModel
    seen: list[_Seen]
    fits: Fits
    name: str
    by_name: list[dict[str, OpRecord]] = field(default_factory=list)

    def refuse(self, node: str, what: str) -> UserError:
        names = ", ".join(s.name for s in self.sizes.symbols)
        return UserError(
            f"{self.name}: {node}: {what}, which is not an expression of {names}: fix the "
            "dimension with --shape"
        )

    def number(self, numbers: Numbers, node: str, what: str, *, dim: bool = False) -> int:
        """The first of the numbers, with the expression that gives all if they differ."""
        if len(set(numbers)) == 1:
            return numbers[0]
        found = self.fits.dimension(numbers) if dim else None
        found = found or (self.fits.number(numbers) if min(numbers) >= 0 else None)
        if found is None or max(numbers) > numbers[0] or (dim and min(numbers) < 1):
            raise self.refuse(node, f"{what} is {_listed(numbers)}")
        if [self._value(found, s.at) for s in self.seen] != list(numbers):
            raise AssertionError(f"{found.text()} is not {numbers}")
        return Varying(numbers[0], found)

    def quotient(self, numbers: Numbers, by: Numbers, node: str) -> int:
        """The first of the multipliers of a mean over so many elements `by`."""
        if len(set(numbers)) == 1:
            return numbers[0]
        found = self.fits.quotient(numbers, by)
        if found is None:
            raise self.refuse(node, "its multiplier")
        return Varying(numbers[0], found)

    def _value(self, expression: Expression, at: Sequence[int]) -> int:
        return expression.value(at)


def _listed(numbers: Numbers) -> str:
    return ", ".join(map(str, sorted(set(numbers))[:6]))


def _difference(top: EdgeModel, model: EdgeModel) -> str | None:
    """The first operator that is not the same in both, None if all are."""
    mine, theirs = ({op.name: op for op in m.ops} for m in (top, model))
    for op in [*top.ops, *model.ops]:
        a, b = mine.get(op.name), theirs.get(op.name)
        if a is None or b is None or not _alike(top, a, model, b):
            return f"{op.kind.name} '{op.name}'"
    same = [[_as_user(io, m) for io in (*m.inputs, *m.outputs)] for m in (top, model)]
    return None if same[0] == same[1] else "an input or output"


def _collapsed(top: EdgeModel, model: EdgeModel, tensor: Mapping[int, int]) -> str | None:
    """An operator with an axis of one index that has more at the largest sizes: views and steps
    along such an axis may be any."""
    for op in top.ops:
        for i in (*op.inputs, *op.outputs):
            if i == ABSENT:
                continue
            pairs = zip(top.tensors[i].shape, model.tensors[tensor[i]].shape, strict=True)
            if any(small == 1 != large for large, small in pairs):
                return f"{op.kind.name} '{op.name}'"
    return None


def _as_user(io: IoRecord, model: EdgeModel) -> tuple[object, ...]:
    t = model.tensors[io.tensor]
    return io.name, io.axes, len(io.shape), t.dtype, t.scale, t.zero_point, io.labels


def _alike(top: EdgeModel, a: OpRecord, model: EdgeModel, b: OpRecord) -> bool:
    if a.kind != b.kind or a.params.keys() != b.params.keys():
        return False
    if len(a.inputs) != len(b.inputs) or len(a.outputs) != len(b.outputs):
        return False
    for i, j in zip((*a.inputs, *a.outputs), (*b.inputs, *b.outputs), strict=True):
        if ABSENT in (i, j):
            if i != j:
                return False
            continue
        x, y = top.tensors[i], model.tensors[j]
        if (x.dtype, x.place, x.scale, x.zero_point) != (y.dtype, y.place, y.scale, y.zero_point):
            return False
        if len(x.shape) != len(y.shape):
            return False
    return True


def _tensors(top: EdgeModel, model: EdgeModel) -> dict[int, int]:
    theirs = {op.name: op for op in model.ops}
    found: dict[int, int] = {}
    for io, other in zip((*top.inputs, *top.outputs), (*model.inputs, *model.outputs), strict=True):
        found[io.tensor] = other.tensor
    for op in top.ops:
        other_op = theirs[op.name]
        pairs = zip((*op.inputs, *op.outputs), (*other_op.inputs, *other_op.outputs), strict=True)
        found.update(pairs)
    return found


def _varied(f: _Fitting) -> EdgeModel:
    """The model at the largest sizes, with expressions in the place of numbers that differ."""
    f.by_name.extend({op.name: op for op in s.model.ops} for s in f.seen)
    made_by = {t: op.name for op in f.top.ops for t in op.outputs}
    tensors = list(f.top.tensors)
    for i, t in enumerate(tensors):
        shapes = [s.model.tensors[s.tensor.get(i, i)].shape for s in f.seen]
        node = f"tensor '{made_by.get(i, 'input')}'"
        tensors[i] = replace(t, shape=_shape(f, shapes, node))
        if t.place == Place.Blob:
            _check_constant(f, i)
    ops = [replace(op, params=_params(f, op)) for op in f.top.ops]
    return replace(
        f.top,
        tensors=tensors,
        ops=ops,
        inputs=_ios(f, "inputs"),
        outputs=_ios(f, "outputs"),
        symbols=f.sizes.symbols,
    )


def _shape(f: _Fitting, shapes: Sequence[tuple[int, ...]], node: str) -> tuple[int, ...]:
    return tuple(
        f.number(tuple(numbers), node, "a dimension", dim=True)
        for numbers in zip(*shapes, strict=True)
    )


def _ios(f: _Fitting, which: str) -> list[IoRecord]:
    found = []
    for i, io in enumerate(getattr(f.top, which)):
        shapes = [getattr(s.model, which)[i].shape for s in f.seen]
        found.append(replace(io, shape=_shape(f, shapes, f"'{io.name}'")))
    return found


def _params(f: _Fitting, op: OpRecord) -> dict[str, int | float]:
    node = f"{op.kind.name} '{op.name}'"
    found = dict(op.params)
    places = _blob_fields(op)
    for name, value in op.params.items():
        others = [ops[op.name].params[name] for ops in f.by_name]
        if name in places:
            _check_content(f, op, name, node)
        elif isinstance(value, float):
            if any(o != value for o in others):
                raise f.refuse(node, f"its {name} differs")
        elif op.kind == OpKind.Reduce and name == "multiplier":
            by = tuple(int(ops[op.name].params["view.axis"]) for ops in f.by_name)
            found[name] = f.quotient(tuple(int(o) for o in others), by, node)
        else:
            found[name] = f.number(tuple(int(o) for o in others), node, f"its {name}")
    return found


def _blob_fields(op: OpRecord) -> set[str]:
    optional = OPTIONAL.get(op.kind.name)
    return {
        name
        for name in BLOB_FIELDS.get(op.kind.name, ())
        if (op.is_coded or name.partition(".")[0] != optional) and op.params[name] != NO_BLOB
    }


def _regions(model: EdgeModel) -> Iterator[int]:
    for op in model.ops:
        yield from (int(op.params[name]) for name in _blob_fields(op))
    yield from (t.offset for t in model.tensors if t.place == Place.Blob)
    yield len(model.blob)


def _check_content(f: _Fitting, op: OpRecord, name: str, node: str) -> None:
    """Weights and tables are the same at all sizes."""
    contents = set()
    for s, ops in zip(f.seen, f.by_name, strict=True):
        begin = int(ops[op.name].params[name])
        end = min((r for r in _regions(s.model) if r > begin), default=begin)
        contents.add(s.model.blob[begin:end].rstrip(b"\0"))
    if len(contents) > 1:
        raise f.refuse(node, f"the content of its {name} depends on the sizes")


def _check_constant(f: _Fitting, i: int) -> None:
    """A constant of smaller sizes is the beginning of the largest one."""
    whole = f.top.tensors[i]
    data = f.top.blob[whole.offset : whole.offset + whole.nbytes]
    for s in f.seen:
        t = s.model.tensors[s.tensor.get(i, i)]
        if data[: t.nbytes] != s.model.blob[t.offset : t.offset + t.nbytes]:
            reader = next(op for op in f.top.ops if i in op.inputs)
            node = f"{reader.kind.name} '{reader.name}'"
            raise f.refuse(node, "its constant input depends on the size")


def _compare(
    made: EdgeModel, static: bytes, at: Sequence[int], node: str, sizes: Sizes, rough: bool
) -> None:
    """The file at these sizes gives what the static one gives. Raises UserError."""
    rng = np.random.default_rng(0)
    session, reference = Session(Model(write(made)), max_memory=None), Session(static)
    feed = {}
    for io in reference.inputs:
        if io.onnx_dtype.kind == "f":
            feed[io.name] = rng.normal(size=io.shape).astype(io.onnx_dtype)
        else:
            feed[io.name] = rng.integers(0, 2, io.shape).astype(io.onnx_dtype)
    session.bind(at)
    mine, theirs = (s.run(feed) if rough else s.run_raw(feed) for s in (session, reference))
    for name, want in theirs.items():
        got = mine[name]
        if got.shape == want.shape:
            if np.array_equal(got, want):
                continue
            if want.dtype.kind == "f":
                if rough and np.linalg.norm(got - want) <= ROUGH * np.linalg.norm(want):
                    continue
                most = CLOSE * max(1.0, float(np.abs(want).max(initial=0)))
                if np.allclose(got, want, rtol=0, atol=most, equal_nan=True):
                    continue
        raise UserError(
            f"{node}: other operators at {sizes.text(at)}, and other values of '{name}'; raise the "
            "lowest size, or fix the dimension with --shape"
        )
