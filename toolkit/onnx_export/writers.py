"""Which kinds of a file have a form in ONNX."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..format.model import OpRecord
from ..format.schema import OpKind
from . import images, operators

if TYPE_CHECKING:
    from .network import Network

WRITERS: dict[OpKind, Callable[[Network, OpRecord], None]] = {
    OpKind.Conv2d: operators.conv,
    OpKind.FullyConnected: operators.fully_connected,
    OpKind.MatMul: operators.mat_mul,
    OpKind.Add: operators.binary,
    OpKind.Mul: operators.binary,
    OpKind.MinMax: operators.binary,
    OpKind.MaxPool2d: operators.max_pool,
    OpKind.AvgPool2d: operators.average_pool,
    OpKind.Softmax: operators.softmax,
    OpKind.Reduce: operators.reduce,
    OpKind.Lut: operators.lut,
    OpKind.ChannelLut: operators.channel_lut,
    OpKind.PRelu: operators.prelu,
    OpKind.ConvTranspose2d: images.conv_transpose,
    OpKind.Pad: images.pad,
    OpKind.Resize: images.resize,
    OpKind.Concat: operators.concat,
    OpKind.Copy: operators.copy,
    OpKind.Requantize: operators.requantize,
    OpKind.Dequantize: operators.dequantize,
}
"""Kinds with a form; of Softmax, LogSoftmax and float kinds there is none."""
