"""The .edge file as Python sees it. Written by runtime_c/schema/emit.py from edge.fbs: do not edit."""

from __future__ import annotations

from enum import IntEnum


class DType(IntEnum):
    Float32 = 0
    Int8 = 1
    Int16 = 2
    Int32 = 3
    UInt8 = 4


class Place(IntEnum):
    Arena = 0
    Blob = 1
    Persistent = 2


class UnaryFn(IntEnum):
    Clip = 0
    Sigmoid = 1
    Tanh = 2
    Exp = 3
    Log = 4
    Sqrt = 5
    Abs = 6
    Neg = 7
    Erf = 8
    HardSigmoid = 9
    HardSwish = 10
    LeakyRelu = 11
    Elu = 12
    Selu = 13
    Celu = 14
    Softplus = 15
    Softsign = 16
    Gelu = 17
    Floor = 18
    Ceil = 19
    Round = 20
    Sin = 21
    Cos = 22
    Reciprocal = 23
    Sign = 24
    GeluTanh = 25
    Mish = 26
    ThresholdedRelu = 27


class BinaryFn(IntEnum):
    Add = 0
    Sub = 1
    Mul = 2
    Div = 3
    Min = 4
    Max = 5
    Pow = 6
    PRelu = 7


class CompareFn(IntEnum):
    Equal = 0
    Less = 1
    LessOrEqual = 2
    And = 3
    Or = 4
    Xor = 5


class ReduceFn(IntEnum):
    Mean = 0
    Sum = 1
    Max = 2
    Min = 3
    Prod = 4
    SumSquare = 5
    L1 = 6
    L2 = 7


class PadMode(IntEnum):
    Constant = 0
    Reflect = 1
    Edge = 2


class OpKind(IntEnum):
    Conv2dS8 = 1
    Conv2dF32 = 2
    DepthwiseConv2dS8 = 3
    DepthwiseConv2dF32 = 4
    ConvTranspose2dS8 = 5
    ConvTranspose2dF32 = 6
    FullyConnectedS8 = 7
    FullyConnectedF32 = 8
    MatMulS8 = 9
    MatMulF32 = 10
    AddS8 = 11
    MulS8 = 12
    BinaryF32 = 13
    LutS8 = 14
    UnaryF32 = 15
    MaxPool2dS8 = 16
    MaxPool2dF32 = 17
    AvgPool2dS8 = 18
    AvgPool2dF32 = 19
    ReduceS8 = 20
    ReduceF32 = 21
    SoftmaxS8 = 22
    SoftmaxF32 = 23
    ResizeS8 = 24
    ResizeF32 = 25
    Concat = 26
    Copy = 27
    Pad = 28
    Gather = 29
    ArgMaxS8 = 30
    ArgMaxF32 = 31
    Cast = 32
    QuantizeS8 = 33
    DequantizeS8 = 34
    MinMaxS8 = 35
    Conv2dS16 = 36
    DepthwiseConv2dS16 = 37
    ConvTranspose2dS16 = 38
    FullyConnectedS16 = 39
    MatMulS16 = 40
    AddS16 = 41
    MulS16 = 42
    LutS16 = 43
    MaxPool2dS16 = 44
    AvgPool2dS16 = 45
    ReduceS16 = 46
    SoftmaxS16 = 47
    ResizeS16 = 48
    ArgMaxS16 = 49
    QuantizeS16 = 50
    DequantizeS16 = 51
    MinMaxS16 = 52
    Requantize = 53
    PReluS8 = 54
    PReluS16 = 55
    BinaryS32 = 59
    Compare = 60
    Where = 61


# struct name -> (struct.pack format, flattened field names, bytes, alignment)
STRUCTS: dict[str, tuple[str, tuple[str, ...], int, int]] = {
    "ConvGeometry": (
        "<IIIIHHHHHHHHHHHH",
        (
            "in_h",
            "in_w",
            "out_h",
            "out_w",
            "batch",
            "in_c",
            "out_c",
            "groups",
            "kernel_h",
            "kernel_w",
            "stride_h",
            "stride_w",
            "dilation_h",
            "dilation_w",
            "pad_top",
            "pad_left",
        ),
        40,
        4,
    ),
    "Requant": (
        "<Ihhhh",
        (
            "table",
            "input_zero",
            "output_zero",
            "qmin",
            "qmax",
        ),
        12,
        4,
    ),
    "Requant16": (
        "<Ihh",
        (
            "table",
            "qmin",
            "qmax",
        ),
        8,
        4,
    ),
    "Broadcast": (
        "<IIIIIIIIIIII",
        (
            "dims.0",
            "dims.1",
            "dims.2",
            "dims.3",
            "a.0",
            "a.1",
            "a.2",
            "a.3",
            "b.0",
            "b.1",
            "b.2",
            "b.3",
        ),
        48,
        4,
    ),
    "AxisView": (
        "<III",
        (
            "outer",
            "axis",
            "inner",
        ),
        12,
        4,
    ),
    "Conv2dS8": (
        "<IIIIHHHHHHHHHHHHIIhhhh",
        (
            "geometry.in_h",
            "geometry.in_w",
            "geometry.out_h",
            "geometry.out_w",
            "geometry.batch",
            "geometry.in_c",
            "geometry.out_c",
            "geometry.groups",
            "geometry.kernel_h",
            "geometry.kernel_w",
            "geometry.stride_h",
            "geometry.stride_w",
            "geometry.dilation_h",
            "geometry.dilation_w",
            "geometry.pad_top",
            "geometry.pad_left",
            "weights",
            "requant.table",
            "requant.input_zero",
            "requant.output_zero",
            "requant.qmin",
            "requant.qmax",
        ),
        56,
        4,
    ),
    "Conv2dS16": (
        "<IIIIHHHHHHHHHHHHIIhh",
        (
            "geometry.in_h",
            "geometry.in_w",
            "geometry.out_h",
            "geometry.out_w",
            "geometry.batch",
            "geometry.in_c",
            "geometry.out_c",
            "geometry.groups",
            "geometry.kernel_h",
            "geometry.kernel_w",
            "geometry.stride_h",
            "geometry.stride_w",
            "geometry.dilation_h",
            "geometry.dilation_w",
            "geometry.pad_top",
            "geometry.pad_left",
            "weights",
            "requant.table",
            "requant.qmin",
            "requant.qmax",
        ),
        52,
        4,
    ),
    "Conv2dF32": (
        "<IIIIHHHHHHHHHHHHIIff",
        (
            "geometry.in_h",
            "geometry.in_w",
            "geometry.out_h",
            "geometry.out_w",
            "geometry.batch",
            "geometry.in_c",
            "geometry.out_c",
            "geometry.groups",
            "geometry.kernel_h",
            "geometry.kernel_w",
            "geometry.stride_h",
            "geometry.stride_w",
            "geometry.dilation_h",
            "geometry.dilation_w",
            "geometry.pad_top",
            "geometry.pad_left",
            "weights",
            "bias",
            "min",
            "max",
        ),
        56,
        4,
    ),
    "DepthwiseConv2dS8": (
        "<IIIIHHHHHHHHHHHHIIhhhh",
        (
            "geometry.in_h",
            "geometry.in_w",
            "geometry.out_h",
            "geometry.out_w",
            "geometry.batch",
            "geometry.in_c",
            "geometry.out_c",
            "geometry.groups",
            "geometry.kernel_h",
            "geometry.kernel_w",
            "geometry.stride_h",
            "geometry.stride_w",
            "geometry.dilation_h",
            "geometry.dilation_w",
            "geometry.pad_top",
            "geometry.pad_left",
            "weights",
            "requant.table",
            "requant.input_zero",
            "requant.output_zero",
            "requant.qmin",
            "requant.qmax",
        ),
        56,
        4,
    ),
    "DepthwiseConv2dS16": (
        "<IIIIHHHHHHHHHHHHIIhh",
        (
            "geometry.in_h",
            "geometry.in_w",
            "geometry.out_h",
            "geometry.out_w",
            "geometry.batch",
            "geometry.in_c",
            "geometry.out_c",
            "geometry.groups",
            "geometry.kernel_h",
            "geometry.kernel_w",
            "geometry.stride_h",
            "geometry.stride_w",
            "geometry.dilation_h",
            "geometry.dilation_w",
            "geometry.pad_top",
            "geometry.pad_left",
            "weights",
            "requant.table",
            "requant.qmin",
            "requant.qmax",
        ),
        52,
        4,
    ),
    "DepthwiseConv2dF32": (
        "<IIIIHHHHHHHHHHHHIIff",
        (
            "geometry.in_h",
            "geometry.in_w",
            "geometry.out_h",
            "geometry.out_w",
            "geometry.batch",
            "geometry.in_c",
            "geometry.out_c",
            "geometry.groups",
            "geometry.kernel_h",
            "geometry.kernel_w",
            "geometry.stride_h",
            "geometry.stride_w",
            "geometry.dilation_h",
            "geometry.dilation_w",
            "geometry.pad_top",
            "geometry.pad_left",
            "weights",
            "bias",
            "min",
            "max",
        ),
        56,
        4,
    ),
    "ConvTranspose2dS8": (
        "<IIIIHHHHHHHHHHHHIIhhhh",
        (
            "geometry.in_h",
            "geometry.in_w",
            "geometry.out_h",
            "geometry.out_w",
            "geometry.batch",
            "geometry.in_c",
            "geometry.out_c",
            "geometry.groups",
            "geometry.kernel_h",
            "geometry.kernel_w",
            "geometry.stride_h",
            "geometry.stride_w",
            "geometry.dilation_h",
            "geometry.dilation_w",
            "geometry.pad_top",
            "geometry.pad_left",
            "weights",
            "requant.table",
            "requant.input_zero",
            "requant.output_zero",
            "requant.qmin",
            "requant.qmax",
        ),
        56,
        4,
    ),
    "ConvTranspose2dS16": (
        "<IIIIHHHHHHHHHHHHIIhh",
        (
            "geometry.in_h",
            "geometry.in_w",
            "geometry.out_h",
            "geometry.out_w",
            "geometry.batch",
            "geometry.in_c",
            "geometry.out_c",
            "geometry.groups",
            "geometry.kernel_h",
            "geometry.kernel_w",
            "geometry.stride_h",
            "geometry.stride_w",
            "geometry.dilation_h",
            "geometry.dilation_w",
            "geometry.pad_top",
            "geometry.pad_left",
            "weights",
            "requant.table",
            "requant.qmin",
            "requant.qmax",
        ),
        52,
        4,
    ),
    "ConvTranspose2dF32": (
        "<IIIIHHHHHHHHHHHHIIff",
        (
            "geometry.in_h",
            "geometry.in_w",
            "geometry.out_h",
            "geometry.out_w",
            "geometry.batch",
            "geometry.in_c",
            "geometry.out_c",
            "geometry.groups",
            "geometry.kernel_h",
            "geometry.kernel_w",
            "geometry.stride_h",
            "geometry.stride_w",
            "geometry.dilation_h",
            "geometry.dilation_w",
            "geometry.pad_top",
            "geometry.pad_left",
            "weights",
            "bias",
            "min",
            "max",
        ),
        56,
        4,
    ),
    "FullyConnectedS8": (
        "<IIIIIhhhh",
        (
            "rows",
            "k",
            "n",
            "weights",
            "requant.table",
            "requant.input_zero",
            "requant.output_zero",
            "requant.qmin",
            "requant.qmax",
        ),
        28,
        4,
    ),
    "FullyConnectedS16": (
        "<IIIIIhh",
        (
            "rows",
            "k",
            "n",
            "weights",
            "requant.table",
            "requant.qmin",
            "requant.qmax",
        ),
        24,
        4,
    ),
    "FullyConnectedF32": (
        "<IIIIIff",
        (
            "rows",
            "k",
            "n",
            "weights",
            "bias",
            "min",
            "max",
        ),
        28,
        4,
    ),
    "MatMulS8": (
        "<IIIIIIihhhhhhHH",
        (
            "batch",
            "rows",
            "k",
            "n",
            "a_step",
            "b_step",
            "multiplier",
            "shift",
            "a_zero",
            "b_zero",
            "output_zero",
            "qmin",
            "qmax",
            "transpose_b",
            "reserved",
        ),
        44,
        4,
    ),
    "MatMulS16": (
        "<IIIIIIiHHhh",
        (
            "batch",
            "rows",
            "k",
            "n",
            "a_step",
            "b_step",
            "multiplier",
            "shift",
            "transpose_b",
            "qmin",
            "qmax",
        ),
        36,
        4,
    ),
    "MatMulF32": (
        "<IIIIIII",
        (
            "batch",
            "rows",
            "k",
            "n",
            "a_step",
            "b_step",
            "transpose_b",
        ),
        28,
        4,
    ),
    "AddS8": (
        "<IIIIIIIIIIIIiiihhhH",
        (
            "shape.dims.0",
            "shape.dims.1",
            "shape.dims.2",
            "shape.dims.3",
            "shape.a.0",
            "shape.a.1",
            "shape.a.2",
            "shape.a.3",
            "shape.b.0",
            "shape.b.1",
            "shape.b.2",
            "shape.b.3",
            "a_multiplier",
            "b_multiplier",
            "bias",
            "shift",
            "qmin",
            "qmax",
            "reserved",
        ),
        68,
        4,
    ),
    "MulS8": (
        "<IIIIIIIIIIIIihhhhhh",
        (
            "shape.dims.0",
            "shape.dims.1",
            "shape.dims.2",
            "shape.dims.3",
            "shape.a.0",
            "shape.a.1",
            "shape.a.2",
            "shape.a.3",
            "shape.b.0",
            "shape.b.1",
            "shape.b.2",
            "shape.b.3",
            "multiplier",
            "shift",
            "a_zero",
            "b_zero",
            "output_zero",
            "qmin",
            "qmax",
        ),
        64,
        4,
    ),
    "AddS16": (
        "<IIIIIIIIIIIIiiHhhH",
        (
            "shape.dims.0",
            "shape.dims.1",
            "shape.dims.2",
            "shape.dims.3",
            "shape.a.0",
            "shape.a.1",
            "shape.a.2",
            "shape.a.3",
            "shape.b.0",
            "shape.b.1",
            "shape.b.2",
            "shape.b.3",
            "a_multiplier",
            "b_multiplier",
            "shift",
            "qmin",
            "qmax",
            "reserved",
        ),
        64,
        4,
    ),
    "MulS16": (
        "<IIIIIIIIIIIIiHhhH",
        (
            "shape.dims.0",
            "shape.dims.1",
            "shape.dims.2",
            "shape.dims.3",
            "shape.a.0",
            "shape.a.1",
            "shape.a.2",
            "shape.a.3",
            "shape.b.0",
            "shape.b.1",
            "shape.b.2",
            "shape.b.3",
            "multiplier",
            "shift",
            "qmin",
            "qmax",
            "reserved",
        ),
        60,
        4,
    ),
    "MinMaxS8": (
        "<IIIIIIIIIIIII",
        (
            "shape.dims.0",
            "shape.dims.1",
            "shape.dims.2",
            "shape.dims.3",
            "shape.a.0",
            "shape.a.1",
            "shape.a.2",
            "shape.a.3",
            "shape.b.0",
            "shape.b.1",
            "shape.b.2",
            "shape.b.3",
            "is_max",
        ),
        52,
        4,
    ),
    "MinMaxS16": (
        "<IIIIIIIIIIIII",
        (
            "shape.dims.0",
            "shape.dims.1",
            "shape.dims.2",
            "shape.dims.3",
            "shape.a.0",
            "shape.a.1",
            "shape.a.2",
            "shape.a.3",
            "shape.b.0",
            "shape.b.1",
            "shape.b.2",
            "shape.b.3",
            "is_max",
        ),
        52,
        4,
    ),
    "BinaryF32": (
        "<IIIIIIIIIIIIHHff",
        (
            "shape.dims.0",
            "shape.dims.1",
            "shape.dims.2",
            "shape.dims.3",
            "shape.a.0",
            "shape.a.1",
            "shape.a.2",
            "shape.a.3",
            "shape.b.0",
            "shape.b.1",
            "shape.b.2",
            "shape.b.3",
            "fn",
            "reserved",
            "min",
            "max",
        ),
        60,
        4,
    ),
    "PReluS8": (
        "<IIIIihhhhhH",
        (
            "view.outer",
            "view.axis",
            "view.inner",
            "table",
            "multiplier",
            "shift",
            "input_zero",
            "output_zero",
            "qmin",
            "qmax",
            "reserved",
        ),
        32,
        4,
    ),
    "BinaryS32": (
        "<IIIIIIIIIIIII",
        (
            "shape.dims.0",
            "shape.dims.1",
            "shape.dims.2",
            "shape.dims.3",
            "shape.a.0",
            "shape.a.1",
            "shape.a.2",
            "shape.a.3",
            "shape.b.0",
            "shape.b.1",
            "shape.b.2",
            "shape.b.3",
            "fn",
        ),
        52,
        4,
    ),
    "Compare": (
        "<IIIIIIIIIIIIHH",
        (
            "shape.dims.0",
            "shape.dims.1",
            "shape.dims.2",
            "shape.dims.3",
            "shape.a.0",
            "shape.a.1",
            "shape.a.2",
            "shape.a.3",
            "shape.b.0",
            "shape.b.1",
            "shape.b.2",
            "shape.b.3",
            "fn",
            "element",
        ),
        52,
        4,
    ),
    "Where": (
        "<IIIIIIIIIIIIIIIII",
        (
            "dims.0",
            "dims.1",
            "dims.2",
            "dims.3",
            "condition.0",
            "condition.1",
            "condition.2",
            "condition.3",
            "a.0",
            "a.1",
            "a.2",
            "a.3",
            "b.0",
            "b.1",
            "b.2",
            "b.3",
            "element_bytes",
        ),
        68,
        4,
    ),
    "PReluS16": (
        "<IIIIihhhhhH",
        (
            "view.outer",
            "view.axis",
            "view.inner",
            "table",
            "multiplier",
            "shift",
            "input_zero",
            "output_zero",
            "qmin",
            "qmax",
            "reserved",
        ),
        32,
        4,
    ),
    "LutS8": (
        "<II",
        (
            "count",
            "table",
        ),
        8,
        4,
    ),
    "LutS16": (
        "<II",
        (
            "count",
            "table",
        ),
        8,
        4,
    ),
    "UnaryF32": (
        "<IHHff",
        (
            "count",
            "fn",
            "reserved",
            "alpha",
            "beta",
        ),
        16,
        4,
    ),
    "MaxPool2dS8": (
        "<IIIIHHHHHHHHHHHH",
        (
            "geometry.in_h",
            "geometry.in_w",
            "geometry.out_h",
            "geometry.out_w",
            "geometry.batch",
            "geometry.in_c",
            "geometry.out_c",
            "geometry.groups",
            "geometry.kernel_h",
            "geometry.kernel_w",
            "geometry.stride_h",
            "geometry.stride_w",
            "geometry.dilation_h",
            "geometry.dilation_w",
            "geometry.pad_top",
            "geometry.pad_left",
        ),
        40,
        4,
    ),
    "MaxPool2dS16": (
        "<IIIIHHHHHHHHHHHH",
        (
            "geometry.in_h",
            "geometry.in_w",
            "geometry.out_h",
            "geometry.out_w",
            "geometry.batch",
            "geometry.in_c",
            "geometry.out_c",
            "geometry.groups",
            "geometry.kernel_h",
            "geometry.kernel_w",
            "geometry.stride_h",
            "geometry.stride_w",
            "geometry.dilation_h",
            "geometry.dilation_w",
            "geometry.pad_top",
            "geometry.pad_left",
        ),
        40,
        4,
    ),
    "MaxPool2dF32": (
        "<IIIIHHHHHHHHHHHH",
        (
            "geometry.in_h",
            "geometry.in_w",
            "geometry.out_h",
            "geometry.out_w",
            "geometry.batch",
            "geometry.in_c",
            "geometry.out_c",
            "geometry.groups",
            "geometry.kernel_h",
            "geometry.kernel_w",
            "geometry.stride_h",
            "geometry.stride_w",
            "geometry.dilation_h",
            "geometry.dilation_w",
            "geometry.pad_top",
            "geometry.pad_left",
        ),
        40,
        4,
    ),
    "AvgPool2dS8": (
        "<IIIIHHHHHHHHHHHHIIhhhh",
        (
            "geometry.in_h",
            "geometry.in_w",
            "geometry.out_h",
            "geometry.out_w",
            "geometry.batch",
            "geometry.in_c",
            "geometry.out_c",
            "geometry.groups",
            "geometry.kernel_h",
            "geometry.kernel_w",
            "geometry.stride_h",
            "geometry.stride_w",
            "geometry.dilation_h",
            "geometry.dilation_w",
            "geometry.pad_top",
            "geometry.pad_left",
            "table",
            "counts",
            "input_zero",
            "output_zero",
            "qmin",
            "qmax",
        ),
        56,
        4,
    ),
    "AvgPool2dS16": (
        "<IIIIHHHHHHHHHHHHIIhh",
        (
            "geometry.in_h",
            "geometry.in_w",
            "geometry.out_h",
            "geometry.out_w",
            "geometry.batch",
            "geometry.in_c",
            "geometry.out_c",
            "geometry.groups",
            "geometry.kernel_h",
            "geometry.kernel_w",
            "geometry.stride_h",
            "geometry.stride_w",
            "geometry.dilation_h",
            "geometry.dilation_w",
            "geometry.pad_top",
            "geometry.pad_left",
            "table",
            "counts",
            "qmin",
            "qmax",
        ),
        52,
        4,
    ),
    "AvgPool2dF32": (
        "<IIIIHHHHHHHHHHHHI",
        (
            "geometry.in_h",
            "geometry.in_w",
            "geometry.out_h",
            "geometry.out_w",
            "geometry.batch",
            "geometry.in_c",
            "geometry.out_c",
            "geometry.groups",
            "geometry.kernel_h",
            "geometry.kernel_w",
            "geometry.stride_h",
            "geometry.stride_w",
            "geometry.dilation_h",
            "geometry.dilation_w",
            "geometry.pad_top",
            "geometry.pad_left",
            "count_include_pad",
        ),
        44,
        4,
    ),
    "ReduceS8": (
        "<IIIihHhhhh",
        (
            "view.outer",
            "view.axis",
            "view.inner",
            "multiplier",
            "shift",
            "fn",
            "input_zero",
            "output_zero",
            "qmin",
            "qmax",
        ),
        28,
        4,
    ),
    "ReduceS16": (
        "<IIIiHHhh",
        (
            "view.outer",
            "view.axis",
            "view.inner",
            "multiplier",
            "shift",
            "fn",
            "qmin",
            "qmax",
        ),
        24,
        4,
    ),
    "ReduceF32": (
        "<IIII",
        (
            "view.outer",
            "view.axis",
            "view.inner",
            "fn",
        ),
        16,
        4,
    ),
    "SoftmaxS8": (
        "<IIII",
        (
            "view.outer",
            "view.axis",
            "view.inner",
            "table",
        ),
        16,
        4,
    ),
    "SoftmaxS16": (
        "<IIII",
        (
            "view.outer",
            "view.axis",
            "view.inner",
            "table",
        ),
        16,
        4,
    ),
    "SoftmaxF32": (
        "<IIII",
        (
            "view.outer",
            "view.axis",
            "view.inner",
            "log",
        ),
        16,
        4,
    ),
    "ResizeS8": (
        "<IIIIIIII",
        (
            "batch",
            "in_h",
            "in_w",
            "out_h",
            "out_w",
            "channels",
            "table",
            "linear",
        ),
        32,
        4,
    ),
    "ResizeS16": (
        "<IIIIIIII",
        (
            "batch",
            "in_h",
            "in_w",
            "out_h",
            "out_w",
            "channels",
            "table",
            "linear",
        ),
        32,
        4,
    ),
    "ResizeF32": (
        "<IIIIIIII",
        (
            "batch",
            "in_h",
            "in_w",
            "out_h",
            "out_w",
            "channels",
            "table",
            "linear",
        ),
        32,
        4,
    ),
    "Concat": (
        "<II",
        (
            "outer",
            "output_step",
        ),
        8,
        4,
    ),
    "Copy": (
        "<IIIIIIiiiiiiII",
        (
            "dims.0",
            "dims.1",
            "dims.2",
            "dims.3",
            "dims.4",
            "dims.5",
            "strides.0",
            "strides.1",
            "strides.2",
            "strides.3",
            "strides.4",
            "strides.5",
            "offset",
            "element_bytes",
        ),
        56,
        4,
    ),
    "Pad": (
        "<IIIIIIIIIIIIHHI",
        (
            "in_dims.0",
            "in_dims.1",
            "in_dims.2",
            "in_dims.3",
            "before.0",
            "before.1",
            "before.2",
            "before.3",
            "out_dims.0",
            "out_dims.1",
            "out_dims.2",
            "out_dims.3",
            "element_bytes",
            "mode",
            "value",
        ),
        56,
        4,
    ),
    "Gather": (
        "<IIII",
        (
            "outer",
            "axis",
            "inner_bytes",
            "count",
        ),
        16,
        4,
    ),
    "ArgMaxS8": (
        "<IIIHH",
        (
            "view.outer",
            "view.axis",
            "view.inner",
            "is_min",
            "last",
        ),
        16,
        4,
    ),
    "ArgMaxS16": (
        "<IIIHH",
        (
            "view.outer",
            "view.axis",
            "view.inner",
            "is_min",
            "last",
        ),
        16,
        4,
    ),
    "ArgMaxF32": (
        "<IIIHH",
        (
            "view.outer",
            "view.axis",
            "view.inner",
            "is_min",
            "last",
        ),
        16,
        4,
    ),
    "Cast": (
        "<IHH",
        (
            "count",
            "from",
            "to",
        ),
        8,
        4,
    ),
    "QuantizeS8": (
        "<Ifi",
        (
            "count",
            "scale",
            "zero",
        ),
        12,
        4,
    ),
    "DequantizeS8": (
        "<Ifi",
        (
            "count",
            "scale",
            "zero",
        ),
        12,
        4,
    ),
    "QuantizeS16": (
        "<If",
        (
            "count",
            "scale",
        ),
        8,
        4,
    ),
    "DequantizeS16": (
        "<If",
        (
            "count",
            "scale",
        ),
        8,
        4,
    ),
    "Requantize": (
        "<IiHhhhhH",
        (
            "count",
            "multiplier",
            "shift",
            "input_zero",
            "output_zero",
            "qmin",
            "qmax",
            "reserved",
        ),
        20,
        4,
    ),
    "TensorType": (
        "<IIBBBB",
        (
            "bytes",
            "dims",
            "rank",
            "dtype",
            "place",
            "reserved",
        ),
        12,
        4,
    ),
    "Tensor": (
        "<IfhH",
        (
            "offset",
            "scale",
            "zero_point",
            "type",
        ),
        12,
        4,
    ),
    "Memory": (
        "<QIIII",
        (
            "macs",
            "arena_bytes",
            "scratch_bytes",
            "persistent_bytes",
            "arena_bound_bytes",
        ),
        24,
        8,
    ),
    "Checksums": (
        "<II",
        (
            "graph",
            "blob",
        ),
        8,
        4,
    ),
}

# operator kind -> field -> the property of an operand that it equals
EQUALS: dict[str, dict[str, str]] = {
    "Conv2dS8": {
        "geometry.in_h": "input0.dim1",
        "geometry.in_w": "input0.dim2",
        "geometry.out_h": "output0.dim1",
        "geometry.out_w": "output0.dim2",
        "geometry.batch": "input0.dim0",
        "geometry.in_c": "input0.dim3",
        "geometry.out_c": "output0.dim3",
        "requant.input_zero": "input0.zero",
        "requant.output_zero": "output0.zero",
        "requant.qmin": "output0.lowest",
        "requant.qmax": "output0.highest",
    },
    "Conv2dF32": {
        "geometry.in_h": "input0.dim1",
        "geometry.in_w": "input0.dim2",
        "geometry.out_h": "output0.dim1",
        "geometry.out_w": "output0.dim2",
        "geometry.batch": "input0.dim0",
        "geometry.in_c": "input0.dim3",
        "geometry.out_c": "output0.dim3",
    },
    "DepthwiseConv2dS8": {
        "geometry.in_h": "input0.dim1",
        "geometry.in_w": "input0.dim2",
        "geometry.out_h": "output0.dim1",
        "geometry.out_w": "output0.dim2",
        "geometry.batch": "input0.dim0",
        "geometry.in_c": "input0.dim3",
        "geometry.out_c": "output0.dim3",
        "requant.input_zero": "input0.zero",
        "requant.output_zero": "output0.zero",
        "requant.qmin": "output0.lowest",
        "requant.qmax": "output0.highest",
    },
    "DepthwiseConv2dF32": {
        "geometry.in_h": "input0.dim1",
        "geometry.in_w": "input0.dim2",
        "geometry.out_h": "output0.dim1",
        "geometry.out_w": "output0.dim2",
        "geometry.batch": "input0.dim0",
        "geometry.in_c": "input0.dim3",
        "geometry.out_c": "output0.dim3",
    },
    "ConvTranspose2dS8": {
        "geometry.in_h": "input0.dim1",
        "geometry.in_w": "input0.dim2",
        "geometry.out_h": "output0.dim1",
        "geometry.out_w": "output0.dim2",
        "geometry.batch": "input0.dim0",
        "geometry.in_c": "input0.dim3",
        "geometry.out_c": "output0.dim3",
        "requant.input_zero": "input0.zero",
        "requant.output_zero": "output0.zero",
        "requant.qmin": "output0.lowest",
        "requant.qmax": "output0.highest",
    },
    "ConvTranspose2dF32": {
        "geometry.in_h": "input0.dim1",
        "geometry.in_w": "input0.dim2",
        "geometry.out_h": "output0.dim1",
        "geometry.out_w": "output0.dim2",
        "geometry.batch": "input0.dim0",
        "geometry.in_c": "input0.dim3",
        "geometry.out_c": "output0.dim3",
    },
    "FullyConnectedS8": {
        "requant.input_zero": "input0.zero",
        "requant.output_zero": "output0.zero",
        "requant.qmin": "output0.lowest",
        "requant.qmax": "output0.highest",
    },
    "MatMulS8": {
        "a_zero": "input0.zero",
        "b_zero": "input1.zero",
        "output_zero": "output0.zero",
        "qmin": "output0.lowest",
        "qmax": "output0.highest",
    },
    "AddS8": {
        "qmin": "output0.lowest",
        "qmax": "output0.highest",
    },
    "MulS8": {
        "a_zero": "input0.zero",
        "b_zero": "input1.zero",
        "output_zero": "output0.zero",
        "qmin": "output0.lowest",
        "qmax": "output0.highest",
    },
    "MaxPool2dS8": {
        "geometry.in_h": "input0.dim1",
        "geometry.in_w": "input0.dim2",
        "geometry.out_h": "output0.dim1",
        "geometry.out_w": "output0.dim2",
        "geometry.batch": "input0.dim0",
        "geometry.in_c": "input0.dim3",
        "geometry.out_c": "output0.dim3",
    },
    "MaxPool2dF32": {
        "geometry.in_h": "input0.dim1",
        "geometry.in_w": "input0.dim2",
        "geometry.out_h": "output0.dim1",
        "geometry.out_w": "output0.dim2",
        "geometry.batch": "input0.dim0",
        "geometry.in_c": "input0.dim3",
        "geometry.out_c": "output0.dim3",
    },
    "AvgPool2dS8": {
        "geometry.in_h": "input0.dim1",
        "geometry.in_w": "input0.dim2",
        "geometry.out_h": "output0.dim1",
        "geometry.out_w": "output0.dim2",
        "geometry.batch": "input0.dim0",
        "geometry.in_c": "input0.dim3",
        "geometry.out_c": "output0.dim3",
        "input_zero": "input0.zero",
        "output_zero": "output0.zero",
        "qmin": "output0.lowest",
        "qmax": "output0.highest",
    },
    "AvgPool2dF32": {
        "geometry.in_h": "input0.dim1",
        "geometry.in_w": "input0.dim2",
        "geometry.out_h": "output0.dim1",
        "geometry.out_w": "output0.dim2",
        "geometry.batch": "input0.dim0",
        "geometry.in_c": "input0.dim3",
        "geometry.out_c": "output0.dim3",
    },
    "ReduceS8": {
        "input_zero": "input0.zero",
        "output_zero": "output0.zero",
        "qmin": "output0.lowest",
        "qmax": "output0.highest",
    },
    "Conv2dS16": {
        "geometry.in_h": "input0.dim1",
        "geometry.in_w": "input0.dim2",
        "geometry.out_h": "output0.dim1",
        "geometry.out_w": "output0.dim2",
        "geometry.batch": "input0.dim0",
        "geometry.in_c": "input0.dim3",
        "geometry.out_c": "output0.dim3",
        "requant.qmin": "output0.lowest",
        "requant.qmax": "output0.highest",
    },
    "DepthwiseConv2dS16": {
        "geometry.in_h": "input0.dim1",
        "geometry.in_w": "input0.dim2",
        "geometry.out_h": "output0.dim1",
        "geometry.out_w": "output0.dim2",
        "geometry.batch": "input0.dim0",
        "geometry.in_c": "input0.dim3",
        "geometry.out_c": "output0.dim3",
        "requant.qmin": "output0.lowest",
        "requant.qmax": "output0.highest",
    },
    "ConvTranspose2dS16": {
        "geometry.in_h": "input0.dim1",
        "geometry.in_w": "input0.dim2",
        "geometry.out_h": "output0.dim1",
        "geometry.out_w": "output0.dim2",
        "geometry.batch": "input0.dim0",
        "geometry.in_c": "input0.dim3",
        "geometry.out_c": "output0.dim3",
        "requant.qmin": "output0.lowest",
        "requant.qmax": "output0.highest",
    },
    "FullyConnectedS16": {
        "requant.qmin": "output0.lowest",
        "requant.qmax": "output0.highest",
    },
    "MatMulS16": {
        "qmin": "output0.lowest",
        "qmax": "output0.highest",
    },
    "AddS16": {
        "qmin": "output0.lowest",
        "qmax": "output0.highest",
    },
    "MulS16": {
        "qmin": "output0.lowest",
        "qmax": "output0.highest",
    },
    "MaxPool2dS16": {
        "geometry.in_h": "input0.dim1",
        "geometry.in_w": "input0.dim2",
        "geometry.out_h": "output0.dim1",
        "geometry.out_w": "output0.dim2",
        "geometry.batch": "input0.dim0",
        "geometry.in_c": "input0.dim3",
        "geometry.out_c": "output0.dim3",
    },
    "AvgPool2dS16": {
        "geometry.in_h": "input0.dim1",
        "geometry.in_w": "input0.dim2",
        "geometry.out_h": "output0.dim1",
        "geometry.out_w": "output0.dim2",
        "geometry.batch": "input0.dim0",
        "geometry.in_c": "input0.dim3",
        "geometry.out_c": "output0.dim3",
        "qmin": "output0.lowest",
        "qmax": "output0.highest",
    },
    "ReduceS16": {
        "qmin": "output0.lowest",
        "qmax": "output0.highest",
    },
    "Requantize": {
        "input_zero": "input0.zero",
        "output_zero": "output0.zero",
        "qmin": "output0.lowest",
        "qmax": "output0.highest",
    },
    "PReluS8": {
        "input_zero": "input0.zero",
        "output_zero": "output0.zero",
        "qmin": "output0.lowest",
        "qmax": "output0.highest",
    },
    "PReluS16": {
        "input_zero": "input0.zero",
        "output_zero": "output0.zero",
        "qmin": "output0.lowest",
        "qmax": "output0.highest",
    },
}

# operator kind -> the field that is a struct which operators share
SHARED: dict[str, str] = {
    "Conv2dS8": "geometry",
    "Conv2dF32": "geometry",
    "DepthwiseConv2dS8": "geometry",
    "DepthwiseConv2dF32": "geometry",
    "ConvTranspose2dS8": "geometry",
    "ConvTranspose2dF32": "geometry",
    "AddS8": "shape",
    "MulS8": "shape",
    "BinaryF32": "shape",
    "MaxPool2dS8": "geometry",
    "MaxPool2dF32": "geometry",
    "AvgPool2dS8": "geometry",
    "AvgPool2dF32": "geometry",
    "ReduceS8": "view",
    "ReduceF32": "view",
    "SoftmaxS8": "view",
    "SoftmaxF32": "view",
    "ArgMaxS8": "view",
    "ArgMaxF32": "view",
    "MinMaxS8": "shape",
    "Conv2dS16": "geometry",
    "DepthwiseConv2dS16": "geometry",
    "ConvTranspose2dS16": "geometry",
    "AddS16": "shape",
    "MulS16": "shape",
    "MaxPool2dS16": "geometry",
    "AvgPool2dS16": "geometry",
    "ReduceS16": "view",
    "SoftmaxS16": "view",
    "ArgMaxS16": "view",
    "MinMaxS16": "shape",
    "PReluS8": "view",
    "PReluS16": "view",
    "BinaryS32": "shape",
    "Compare": "shape",
}

# table name -> field -> slot number
SLOTS: dict[str, dict[str, int]] = {
    "Io": {
        "name": 0,
        "tensor": 1,
        "onnx_dtype": 2,
        "shape": 3,
    },
    "Provenance": {
        "producer": 0,
        "model_sha256": 1,
        "calibration_sha256": 2,
        "options": 3,
    },
    "Pruned": {
        "op": 0,
        "channels": 1,
        "kept": 2,
    },
    "Model": {
        "version": 0,
        "target": 1,
        "memory": 2,
        "checksums": 3,
        "tensors": 4,
        "types": 5,
        "dims": 6,
        "program": 7,
        "ops": 8,
        "inputs": 9,
        "outputs": 10,
        "names": 11,
        "provenance": 12,
        "blob": 13,
        "pruned": 14,
        "placement": 15,
    },
}
