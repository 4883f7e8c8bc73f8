"""The static shape of every graph input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from math import prod

import onnx

from ..errors import UserError
from ..ir import Shape
from .limits import MAX_RANK, TENSOR_ELEMENTS
from .source import OnnxModel


def fix_input_shapes(
    model: OnnxModel,
    given: Mapping[str, Sequence[int]],
    arrays: Mapping[str, Sequence[int]] | None = None,
    symbolic: Mapping[str, int] | None = None,
) -> dict[str, Shape]:
    """The shape of each input, from the model and `given`; also written into the model.

    What both leave open comes from `arrays`: the shapes of arrays of samples, by input name, or of
    one without a name. The model's notes say so.
    `symbolic` are sizes of symbolic dimensions by name.
    A symbol bound by one given shape holds for all inputs; one that is only ever a first axis else
    becomes 1, or, if other axes of its input are open too or there are none, the size in the
    samples; the model's notes say so.
    Raises UserError naming each input that needs a --shape, and the --shape to add.
    """
    label = model.label
    inputs = {i.name: i for i in model.real_inputs() if i.type.HasField("tensor_type")}
    _check_given(label, inputs, given)
    symbols = dict(symbolic or {})
    for name, shape in given.items():
        for dim, value in zip(_dims(inputs[name]), shape, strict=False):
            if dim.dim_param:
                symbols.setdefault(dim.dim_param, int(value))
    inner = {d.dim_param for info in inputs.values() for d in _dims(info)[1:]}
    batches: dict[str, list[str]] = {}
    for name, info in inputs.items():
        batch = _dims(info)[0].dim_param if _dims(info) else ""
        if batch and batch not in inner and batch not in symbols:
            batches.setdefault(batch, []).append(name)
    for batch, names in batches.items():
        size = 1
        for name in names:
            array = _array_of(name, arrays or {}, len(inputs) == 1)
            others = _known_dims(inputs[name], {**symbols, batch: 1}) or []
            if (None in others or len(others) == 1) and len(array) == len(others) + 1:
                size = max(size, array[1])
        symbols[batch] = size
        model.notes.append(
            f"batch dimension '{batch}' fixed to {size} (to change: --shape {names[0]}=...)"
        )
    shapes: dict[str, Shape] = {}
    missing: list[str] = []
    for name, info in inputs.items():
        dims = _dims(info)
        chosen = name in given or (len(dims) == 1 and bool(dims[0].dim_param))
        if name in given:
            shapes[name] = tuple(int(v) for v in given[name])
        else:
            known = _known_dims(info, symbols)
            if known is not None and None in known:
                chosen = True
                known = _of_samples(info.name, known, arrays or {}, len(inputs) == 1, model.notes)
            if known is None or None in known:
                missing.append(_how_to_give(info, known))
            else:
                shapes[name] = tuple(d for d in known if d is not None)
        if chosen and name in shapes:
            model.chosen_shapes.append(f"--shape {name}={','.join(map(str, shapes[name]))}")
    if missing:
        raise UserError(f"{label}: unknown input shape: " + "; ".join(missing))
    for name, shape in shapes.items():
        if 0 in shape:
            text = _text(_dims(inputs[name]))
            model.notes.append(
                f"input '{name}' is of shape {text}, which has no elements; if 0 means unknown, "
                f"use --shape {name}={text} with numbers for the zeros"
            )
        _check_size(label, name, shape)
        _write(inputs[name], shape)
    return shapes


def _check_size(label: str, name: str, shape: Shape) -> None:
    text = ",".join(map(str, shape))
    if len(shape) > MAX_RANK:
        raise UserError(
            f"{label}: input '{name}' has {len(shape)} dimensions ({text}); at most {MAX_RANK} are "
            "supported; reshape it outside the model"
        )
    if prod(shape) > TENSOR_ELEMENTS:
        raise UserError(
            f"{label}: input '{name}' of shape {text} has {prod(shape)} elements; the limit is "
            f"{TENSOR_ELEMENTS}; give a smaller shape with --shape"
        )


def _dims(info: onnx.ValueInfoProto) -> Sequence[onnx.TensorShapeProto.Dimension]:
    return list(info.type.tensor_type.shape.dim)


def _has_shape(info: onnx.ValueInfoProto) -> bool:
    return bool(info.type.tensor_type.HasField("shape"))


def _known_dims(info: onnx.ValueInfoProto, symbols: Mapping[str, int]) -> list[int | None] | None:
    if not _has_shape(info):
        return None
    known: list[int | None] = []
    for axis, dim in enumerate(_dims(info)):
        # Exporters also write "unknown" as -1.
        if dim.dim_value > 0:
            known.append(dim.dim_value)
        elif dim.dim_param in symbols:
            known.append(symbols[dim.dim_param])
        elif _is_zero(dim):
            known.append(0)
        else:
            known.append(1 if axis == 0 and not dim.dim_param else None)
    return known


def _array_of(name: str, arrays: Mapping[str, Sequence[int]], alone: bool) -> tuple[int, ...]:
    """The shape of an input's array of samples; () without one."""
    return tuple(arrays.get(name) or (arrays.get("", ()) if alone else ()))


def _of_samples(
    name: str,
    known: list[int | None],
    arrays: Mapping[str, Sequence[int]],
    alone: bool,
    notes: list[str],
) -> list[int | None]:
    """`known` with what arrays of samples say of the rest; as it is if they do not fit."""
    array = _array_of(name, arrays, alone)
    row = array[1:] if len(array) == len(known) + 1 else (known[0] or 1, *array[1:])
    if not array or len(row) != len(known) or min(row) < 1:
        return known
    if any(k not in (None, d) for k, d in zip(known, row, strict=True)):
        return known
    notes.append(
        f"input '{name}' has the shape of the samples: {','.join(map(str, row))} (to change: "
        f"--shape {name}=...)"
    )
    return list(row)


def _how_to_give(info: onnx.ValueInfoProto, known: list[int | None] | None) -> str:
    if known is None:
        return f"input '{info.name}' has no shape, add --shape {info.name}=1,..."
    letters: Sequence[str] = [f"D{i}" for i in range(len(known))]
    if len(known) == 4:
        letters = "NHWC" if known[1] is None and known[3] in (1, 3, 4) else "NCHW"
    example = [letters[i] if k is None else str(k) for i, k in enumerate(known)]
    remedy = f"add --shape {info.name}={','.join(example)} with numbers for the letters"
    symbols = [d.dim_param or "?" for d in _dims(info)]
    named = [s for s, k in zip(symbols, known, strict=True) if k is None and s != "?"]
    if named:
        remedy += f", or --dim {named[0]}=1..N for a size that varies (edgekit convert)"
    unknown = ", ".join(s for s, k in zip(symbols, known, strict=True) if k is None)
    return f"input '{info.name}' has dynamic dimensions ({unknown}), {remedy}"


def _is_zero(dim: onnx.TensorShapeProto.Dimension) -> bool:
    """Whether ONNX says that the axis is empty, and not that nothing is known of it."""
    return bool(dim.HasField("dim_value") and dim.dim_value == 0)


def _check_given(
    label: str,
    inputs: Mapping[str, onnx.ValueInfoProto],
    given: Mapping[str, Sequence[int]],
) -> None:
    for name, shape in given.items():
        text = ",".join(str(v) for v in shape)
        if name not in inputs:
            near = get_close_matches(name, inputs, 1)
            hint = f"did you mean '{near[0]}'?" if near else f"inputs: {', '.join(inputs)}"
            raise UserError(f"{label}: --shape {name}={text}: no input '{name}'; {hint}")
        if any(int(v) < 1 for v in shape):
            raise UserError(f"{label}: --shape {name}={text}: dimensions must be 1 or more")
        if not _has_shape(inputs[name]):
            continue
        dims = _dims(inputs[name])
        if len(dims) != len(shape):
            raise UserError(
                f"{label}: --shape {name}={text}: the input has {len(dims)} dimensions "
                f"({_text(dims)}), not {len(shape)}"
            )
        if any(d.dim_value > 0 and d.dim_value != v for d, v in zip(dims, shape, strict=True)):
            raise UserError(
                f"{label}: --shape {name}={text}: the model fixes the shape to {_text(dims)}"
            )


def symbolic_dims(model: OnnxModel) -> dict[str, list[int | str] | None]:
    """The dimensions of each input: a number, the name of a symbol, or "" where it has none; None
    of an input without a shape."""
    inputs = [i for i in model.real_inputs() if i.type.HasField("tensor_type")]
    return {
        info.name: [d.dim_value if d.dim_value > 0 else d.dim_param for d in _dims(info)]
        if _has_shape(info)
        else None
        for info in inputs
    }


def _text(dims: Sequence[onnx.TensorShapeProto.Dimension]) -> str:
    def one(d: onnx.TensorShapeProto.Dimension) -> str:
        return str(d.dim_value) if d.dim_value > 0 or _is_zero(d) else d.dim_param or "?"

    return ",".join(one(d) for d in dims)


def _write(info: onnx.ValueInfoProto, shape: Shape) -> None:
    proto = info.type.tensor_type.shape
    del proto.dim[:]
    for d in shape:
        proto.dim.add().dim_value = d
