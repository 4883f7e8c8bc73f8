"""An .edge file -> the same network as ONNX with QuantizeLinear and DequantizeLinear."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..errors import UserError
from ..files import check_writable, read_file, write_atomically
from ..format.reader import read
from .network import Network

__all__ = ["Exported", "export"]


@dataclass(frozen=True)
class Exported:
    """What `export` wrote."""

    output: str
    file_bytes: int
    nodes: int


def export(edge: str | Path, output: str | Path | None = None) -> Exported:
    """Write the integer network of the generic file `edge` as a QDQ model, opset 21.

    By default beside it, as EDGE-qdq.onnx. Raises UserError for a bad file, one packed for a
    target, and operators without a form in ONNX's operators; then nothing is written.
    """
    path = Path(edge)
    target = path.with_name(f"{path.stem}-qdq.onnx") if output is None else Path(output)
    check_writable(target, [path])
    model = read(read_file(edge, "an .edge file"), str(edge))
    if model.target != "generic":
        raise UserError(
            f"{edge}: it is packed for {model.target}; export the generic file that edgekit "
            "quantize wrote"
        )
    made = Network(model, str(edge)).run()
    data = made.SerializeToString()
    write_atomically(target, data)
    return Exported(str(target), len(data), len(made.graph.node))
