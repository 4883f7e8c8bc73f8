"""ONNX files in, .edge files out: what reading one and writing the other have in common."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from .build import build_file
from .files import check_writable, read_file
from .format.model import Provenance
from .ir import Array, Graph
from .onnx_import import load as import_onnx
from .onnx_import import refuse_edge
from .passes import DEFAULT, QUANTIZED, LeafFunctions, run_passes
from .runtime import Session

Shapes = Mapping[str, Sequence[int]]
Constants = Mapping[str, float | Sequence[float]]


def load(
    model: str | Path | bytes,
    shapes: Shapes | None = None,
    *,
    finite: bool = False,
    arrays: Shapes | None = None,
    constants: Constants | None = None,
    dims: Mapping[str, int] | None = None,
    lazily: bool = True,
) -> Graph:
    """The optimized float graph of an ONNX model; `finite` in the form that is quantized. `arrays`
    are shapes of arrays of samples, which say what the model and `shapes` leave open; `constants`
    are values of inputs that are not to be fed; `dims` sizes of symbolic dimensions by name. Unless
    `lazily`, and of the form that is quantized, branches and loops are unrolled where they can be.

    Raises UserError or UnsupportedError.
    """
    graph = import_onnx(model, shapes, arrays, constants, dims, lazily and not finite)
    run_passes(graph, (LeafFunctions(_outputs), *(QUANTIZED if finite else DEFAULT)))
    return graph


def _outputs(graph: Graph, values: Sequence[Array]) -> list[Array]:
    """The output of a float graph with one input, of each of these."""
    (given,), session = graph.inputs, Session(build_file(graph))
    return [y for x in values for y in session.run({given.name: x}).values()]


def output_path(model: str | Path, output: str | Path | None, *read: str | Path) -> Path:
    """The file to write, by default MODEL.edge in the model's folder. Raises UserError if it cannot
    be written or is one of the files that are `read`, and if the model is an .edge file."""
    if Path(model).is_file():
        with suppress(OSError), Path(model).open("rb") as file:
            refuse_edge(str(model), file.read(8))
    path = Path(model).with_suffix(".edge") if output is None else Path(output)
    check_writable(path, [model, *read])
    return path


def plain_shapes(shapes: Mapping[str, Sequence[Any]] | None) -> dict[str, list[int | str]]:
    """What provenance says of shapes; dimensions that vary as text."""
    return {k: [_plain(d) for d in v] for k, v in (shapes or {}).items()}


def _plain(dim: Any) -> int | str:
    try:
        return int(dim)
    except TypeError:
        return str(dim)


def plain_dims(dims: Mapping[str, Any] | None) -> dict[str, dict[str, str]]:
    """What provenance says of named dimensions; nothing where there are none."""
    return {"dims": {name: str(d) for name, d in dims.items()}} if dims else {}


def plain_constants(constants: Constants | None) -> dict[str, dict[str, list[float]]]:
    """What provenance says of inputs that were made constants; nothing where there are none."""
    found = {k: [float(v) for v in np.ravel(values)] for k, values in (constants or {}).items()}
    return {"constants": found} if found else {}


def provenance_of(model: str | Path, calibration: str, options: dict[str, Any]) -> Provenance:
    content = read_file(model, "an ONNX model")
    return Provenance(
        producer=f"edgekit {__version__}",
        model_sha256=hashlib.sha256(content).hexdigest(),
        calibration_sha256=calibration,
        options=as_text(options),
    )


def as_text(options: dict[str, Any]) -> str:
    return json.dumps(options, sort_keys=True)
