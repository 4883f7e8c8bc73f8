"""The .edge file as Python sees it. Written by runtime_c/schema/emit.py from edge.fbs: do not edit."""

from __future__ import annotations

from enum import IntEnum


class DType(IntEnum):
    Float32 = 0
    Int8 = 1
    Int16 = 2
    Int32 = 3
    UInt8 = 4
    Float16 = 5
    Float64 = 6
    Int64 = 7
    UInt64 = 8


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
    Less = 8
    LessOrEqual = 9
    Equal = 10


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


class MathFn(IntEnum):
    And = 0
    Or = 1
    Xor = 2
    ShiftLeft = 3
    ShiftRight = 4
    Mod = 5
    Fmod = 6
    Bits = 7
    Acos = 8
    Acosh = 9
    Asin = 10
    Asinh = 11
    Atan = 12
    Atanh = 13
    Cosh = 14
    Sinh = 15
    Tan = 16


class ScatterFn(IntEnum):
    Replace = 0
    Add = 1
    Mul = 2
    Min = 3
    Max = 4


class WeightCodec(IntEnum):
    Plain = 0
    Nibbles = 1
    Crumbs = 2
    Huffman = 3


class DistanceFn(IntEnum):
    SquaredEuclidean = 0
    Euclidean = 1
    Manhattan = 2


class TreeAggregate(IntEnum):
    Sum = 0
    Average = 1
    Min = 2
    Max = 3


class RecurrentCell(IntEnum):
    Rnn = 0
    Gru = 1
    Lstm = 2


class RecurrentFn(IntEnum):
    Sigmoid = 0
    Tanh = 1
    Relu = 2
    Affine = 3
    LeakyRelu = 4
    ThresholdedRelu = 5
    ScaledTanh = 6
    HardSigmoid = 7
    Elu = 8
    Softsign = 9
    Softplus = 10


class RecurrentOutput(IntEnum):
    Hidden = 1
    LastHidden = 2
    LastCell = 4
    Cells = 8
    Gates = 16


class RecurrentFlag(IntEnum):
    Reverse = 1
    ResetAfter = 2
    Coupled = 4
    Peepholes = 8


class RegionFn(IntEnum):
    If = 0
    Else = 1
    EndIf = 2
    Loop = 3
    EndLoop = 4


class PadMode(IntEnum):
    Constant = 0
    Reflect = 1
    Edge = 2


class OpKind(IntEnum):
    Conv2d = 1
    ConvTranspose2d = 2
    FullyConnected = 3
    MatMul = 4
    Add = 5
    Mul = 6
    MinMax = 7
    PRelu = 8
    Lut = 9
    ChannelLut = 10
    Binary = 11
    Unary = 12
    Compare = 13
    Where = 14
    MaxPool2d = 15
    AvgPool2d = 16
    Reduce = 17
    Softmax = 18
    LayerNorm = 19
    ArgMax = 20
    Resize = 21
    Concat = 22
    Copy = 23
    Pad = 24
    Gather = 25
    Cast = 26
    Dequantize = 27
    Requantize = 28
    TreeEnsemble = 29
    Recurrent = 30
    Convert = 31
    Distance = 32
    PairwiseCoupling = 33
    Math = 34
    Scatter = 35
    TopK = 36
    NonZero = 37
    NonMaxSuppression = 38
    Custom = 39
    Region = 40


class Term(IntEnum):
    End = 0
    Number = 1
    Symbol = 2
    Add = 3
    Subtract = 4
    Multiply = 5
    Divide = 6
    Min = 7
    Max = 8
    Quotient = 9


class Section(IntEnum):
    Dims = 0
    Program = 1
    Input = 2
    Output = 3


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
        "<IhhiiI",
        (
            "table",
            "input_zero",
            "output_zero",
            "qmin",
            "qmax",
            "tight",
        ),
        20,
        4,
    ),
    "Codec": (
        "<HHI",
        (
            "id",
            "group",
            "auxiliary",
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
    "Conv2d": (
        "<IIIIHHHHHHHHHHHHIIhhiiIHHI",
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
            "requant.tight",
            "codec.id",
            "codec.group",
            "codec.auxiliary",
        ),
        72,
        4,
    ),
    "ConvTranspose2d": (
        "<IIIIHHHHHHHHHHHHIIhhiiI",
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
            "requant.tight",
        ),
        64,
        4,
    ),
    "FullyConnected": (
        "<IIIIIhhiiIHHI",
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
            "requant.tight",
            "codec.id",
            "codec.group",
            "codec.auxiliary",
        ),
        44,
        4,
    ),
    "MatMul": (
        "<IIIIIIihhhhiiI",
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
        ),
        48,
        4,
    ),
    "Add": (
        "<IIIIIIIIIIIIiiiiii",
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
        ),
        72,
        4,
    ),
    "Mul": (
        "<IIIIIIIIIIIIihhhhii",
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
        68,
        4,
    ),
    "MinMax": (
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
    "Binary": (
        "<IIIIIIIIIIIIIii",
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
            "qmin",
            "qmax",
        ),
        60,
        4,
    ),
    "PRelu": (
        "<IIIIiihhii",
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
        ),
        36,
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
    "Lut": (
        "<II",
        (
            "count",
            "table",
        ),
        8,
        4,
    ),
    "ChannelLut": (
        "<IIIII",
        (
            "rows",
            "channels",
            "tables",
            "index",
            "table",
        ),
        20,
        4,
    ),
    "Unary": (
        "<IIff",
        (
            "count",
            "fn",
            "alpha",
            "beta",
        ),
        16,
        4,
    ),
    "MaxPool2d": (
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
    "AvgPool2d": (
        "<IIIIHHHHHHHHHHHHIIhhii",
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
        60,
        4,
    ),
    "Reduce": (
        "<IIIihHhhii",
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
        32,
        4,
    ),
    "Softmax": (
        "<IIIII",
        (
            "view.outer",
            "view.axis",
            "view.inner",
            "table",
            "log",
        ),
        20,
        4,
    ),
    "LayerNorm": (
        "<IIIIIIIIBBHHhii",
        (
            "view.outer",
            "view.axis",
            "view.inner",
            "table",
            "channels",
            "step",
            "epsilon_low",
            "epsilon_high",
            "centered",
            "widening",
            "radicand_shift",
            "shift",
            "input_zero",
            "qmin",
            "qmax",
        ),
        48,
        4,
    ),
    "Resize": (
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
    "ArgMax": (
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
    "Convert": (
        "<IHH",
        (
            "count",
            "element",
            "saturate",
        ),
        8,
        4,
    ),
    "Dequantize": (
        "<Ifi",
        (
            "count",
            "scale",
            "zero",
        ),
        12,
        4,
    ),
    "Requantize": (
        "<Iiihhii",
        (
            "count",
            "multiplier",
            "shift",
            "input_zero",
            "output_zero",
            "qmin",
            "qmax",
        ),
        24,
        4,
    ),
    "TreeEnsemble": (
        "<IIIII",
        (
            "rows",
            "features",
            "targets",
            "table",
            "scratch",
        ),
        20,
        4,
    ),
    "Recurrent": (
        "<IIIIIIhhiiIIHBBHHI",
        (
            "steps",
            "batch",
            "hidden",
            "weights",
            "table",
            "requant.table",
            "requant.input_zero",
            "requant.output_zero",
            "requant.qmin",
            "requant.qmax",
            "requant.tight",
            "functions",
            "flags",
            "cell",
            "gives",
            "codec.id",
            "codec.group",
            "codec.auxiliary",
        ),
        56,
        4,
    ),
    "Distance": (
        "<IIII",
        (
            "rows",
            "columns",
            "features",
            "fn",
        ),
        16,
        4,
    ),
    "PairwiseCoupling": (
        "<II",
        (
            "rows",
            "classes",
        ),
        8,
        4,
    ),
    "Math": (
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
    "Scatter": (
        "<IIII",
        (
            "rows",
            "inner",
            "count",
            "fn",
        ),
        16,
        4,
    ),
    "TopK": (
        "<IIIII",
        (
            "view.outer",
            "view.axis",
            "view.inner",
            "k",
            "smallest",
        ),
        20,
        4,
    ),
    "NonZero": (
        "<II",
        (
            "count",
            "most",
        ),
        8,
        4,
    ),
    "NonMaxSuppression": (
        "<IIIII",
        (
            "batch",
            "boxes",
            "classes",
            "most",
            "centered",
        ),
        20,
        4,
    ),
    "Custom": (
        "<IIIIII",
        (
            "name",
            "name_bytes",
            "version",
            "attributes",
            "attribute_bytes",
            "scratch",
        ),
        24,
        4,
    ),
    "Region": (
        "<IIIHH",
        (
            "length",
            "back",
            "most",
            "fn",
            "strict",
        ),
        16,
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
    "Start": (
        "<IHH",
        (
            "initial",
            "tensor",
            "period",
        ),
        8,
        4,
    ),
    "Varying": (
        "<III",
        (
            "at",
            "expression",
            "section",
        ),
        12,
        4,
    ),
}

# operator kind -> field -> the property of an operand that it equals
EQUALS: dict[str, dict[str, str]] = {
    "Conv2d": {
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
        "codec.id": "nothing.zero",
        "codec.group": "nothing.zero",
        "codec.auxiliary": "nothing.zero",
    },
    "ConvTranspose2d": {
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
    "FullyConnected": {
        "requant.input_zero": "input0.zero",
        "requant.output_zero": "output0.zero",
        "requant.qmin": "output0.lowest",
        "requant.qmax": "output0.highest",
        "codec.id": "nothing.zero",
        "codec.group": "nothing.zero",
        "codec.auxiliary": "nothing.zero",
    },
    "MatMul": {
        "a_zero": "input0.zero",
        "b_zero": "input1.zero",
        "output_zero": "output0.zero",
        "qmin": "output0.lowest",
        "qmax": "output0.highest",
    },
    "Add": {
        "qmin": "output0.lowest",
        "qmax": "output0.highest",
    },
    "Mul": {
        "a_zero": "input0.zero",
        "b_zero": "input1.zero",
        "output_zero": "output0.zero",
        "qmin": "output0.lowest",
        "qmax": "output0.highest",
    },
    "PRelu": {
        "input_zero": "input0.zero",
        "output_zero": "output0.zero",
        "qmin": "output0.lowest",
        "qmax": "output0.highest",
    },
    "Binary": {
        "qmin": "output0.lowest",
        "qmax": "output0.highest",
    },
    "MaxPool2d": {
        "geometry.in_h": "input0.dim1",
        "geometry.in_w": "input0.dim2",
        "geometry.out_h": "output0.dim1",
        "geometry.out_w": "output0.dim2",
        "geometry.batch": "input0.dim0",
        "geometry.in_c": "input0.dim3",
        "geometry.out_c": "output0.dim3",
    },
    "AvgPool2d": {
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
    "Reduce": {
        "input_zero": "input0.zero",
        "output_zero": "output0.zero",
        "qmin": "output0.lowest",
        "qmax": "output0.highest",
    },
    "LayerNorm": {
        "input_zero": "input0.zero",
        "qmin": "output0.lowest",
        "qmax": "output0.highest",
    },
    "Requantize": {
        "input_zero": "input0.zero",
        "output_zero": "output0.zero",
        "qmin": "output0.lowest",
        "qmax": "output0.highest",
    },
    "TreeEnsemble": {
        "rows": "input0.dim0",
        "features": "input0.dim1",
        "targets": "output0.dim1",
    },
    "Recurrent": {
        "requant.input_zero": "input0.zero",
        "requant.output_zero": "output0.zero",
        "requant.qmin": "output0.lowest",
        "requant.qmax": "output0.highest",
        "codec.id": "nothing.zero",
        "codec.group": "nothing.zero",
        "codec.auxiliary": "nothing.zero",
    },
}

# operator kind -> the field that is a struct which operators share
SHARED: dict[str, str] = {
    "Conv2d": "geometry",
    "ConvTranspose2d": "geometry",
    "Add": "shape",
    "Mul": "shape",
    "MinMax": "shape",
    "PRelu": "view",
    "Binary": "shape",
    "Compare": "shape",
    "MaxPool2d": "geometry",
    "AvgPool2d": "geometry",
    "Reduce": "view",
    "Softmax": "view",
    "LayerNorm": "view",
    "ArgMax": "view",
    "Math": "shape",
    "TopK": "view",
}

# operator kind -> the struct that is left out where it is 0
OPTIONAL: dict[str, str] = {
    "Conv2d": "codec",
    "FullyConnected": "codec",
    "Recurrent": "codec",
}

# operator kind -> the fields that are offsets in the blob
BLOB_FIELDS: dict[str, tuple[str, ...]] = {
    "Conv2d": (
        "weights",
        "requant.table",
        "codec.auxiliary",
    ),
    "ConvTranspose2d": (
        "weights",
        "requant.table",
    ),
    "FullyConnected": (
        "weights",
        "requant.table",
        "codec.auxiliary",
    ),
    "PRelu": (
        "table",
    ),
    "Lut": (
        "table",
    ),
    "ChannelLut": (
        "index",
        "table",
    ),
    "AvgPool2d": (
        "table",
    ),
    "Softmax": (
        "table",
    ),
    "LayerNorm": (
        "table",
    ),
    "Resize": (
        "table",
    ),
    "TreeEnsemble": (
        "table",
    ),
    "Recurrent": (
        "weights",
        "table",
        "requant.table",
        "codec.auxiliary",
    ),
    "Custom": (
        "name",
        "attributes",
    ),
}

# (kind, whether the variant) -> name
NAMES: dict[tuple[OpKind, bool], str] = {
    (OpKind.Conv2d, False): "Conv2d",
    (OpKind.Conv2d, True): "DepthwiseConv2d",
    (OpKind.ConvTranspose2d, False): "ConvTranspose2d",
    (OpKind.FullyConnected, False): "FullyConnected",
    (OpKind.MatMul, False): "MatMul",
    (OpKind.Add, False): "Add",
    (OpKind.Mul, False): "Mul",
    (OpKind.MinMax, False): "MinMax",
    (OpKind.PRelu, False): "PRelu",
    (OpKind.Lut, False): "Lut",
    (OpKind.ChannelLut, False): "ChannelLut",
    (OpKind.Binary, False): "Binary",
    (OpKind.Unary, False): "Unary",
    (OpKind.Compare, False): "Compare",
    (OpKind.Where, False): "Where",
    (OpKind.MaxPool2d, False): "MaxPool2d",
    (OpKind.AvgPool2d, False): "AvgPool2d",
    (OpKind.Reduce, False): "Reduce",
    (OpKind.Softmax, False): "Softmax",
    (OpKind.LayerNorm, False): "LayerNorm",
    (OpKind.ArgMax, False): "ArgMax",
    (OpKind.Resize, False): "Resize",
    (OpKind.Concat, False): "Concat",
    (OpKind.Copy, False): "Copy",
    (OpKind.Pad, False): "Pad",
    (OpKind.Gather, False): "Gather",
    (OpKind.Cast, False): "Cast",
    (OpKind.Dequantize, False): "Dequantize",
    (OpKind.Dequantize, True): "Quantize",
    (OpKind.Requantize, False): "Requantize",
    (OpKind.TreeEnsemble, False): "TreeEnsemble",
    (OpKind.Recurrent, False): "Recurrent",
    (OpKind.Convert, False): "Convert",
    (OpKind.Distance, False): "Distance",
    (OpKind.PairwiseCoupling, False): "PairwiseCoupling",
    (OpKind.Math, False): "Math",
    (OpKind.Scatter, False): "Scatter",
    (OpKind.TopK, False): "TopK",
    (OpKind.NonZero, False): "NonZero",
    (OpKind.NonMaxSuppression, False): "NonMaxSuppression",
    (OpKind.Custom, False): "Custom",
    (OpKind.Region, False): "Region",
}
# What the number of a kind's variant is more.
VARIANT = 128

# (kind, whether the variant, DType or None for any) -> C file in runtime_c/src/ops
FORMS: dict[tuple[OpKind, bool, DType | None], str] = {
    (OpKind.Conv2d, False, DType.Int8): "conv2d_s8",
    (OpKind.Conv2d, False, DType.Int16): "conv2d_s16",
    (OpKind.Conv2d, False, DType.Float32): "conv2d_f32",
    (OpKind.Conv2d, False, DType.Float16): "conv2d_f16",
    (OpKind.Conv2d, True, DType.Int8): "depthwise_conv2d_s8",
    (OpKind.Conv2d, True, DType.Int16): "depthwise_conv2d_s16",
    (OpKind.Conv2d, True, DType.Float32): "depthwise_conv2d_f32",
    (OpKind.Conv2d, True, DType.Float16): "depthwise_conv2d_f16",
    (OpKind.ConvTranspose2d, False, DType.Int8): "conv_transpose2d_s8",
    (OpKind.ConvTranspose2d, False, DType.Int16): "conv_transpose2d_s16",
    (OpKind.ConvTranspose2d, False, DType.Float32): "conv_transpose2d_f32",
    (OpKind.ConvTranspose2d, False, DType.Float16): "conv_transpose2d_f16",
    (OpKind.FullyConnected, False, DType.Int8): "fully_connected_s8",
    (OpKind.FullyConnected, False, DType.Int16): "fully_connected_s16",
    (OpKind.FullyConnected, False, DType.Float32): "fully_connected_f32",
    (OpKind.FullyConnected, False, DType.Float16): "fully_connected_f16",
    (OpKind.MatMul, False, DType.Int8): "mat_mul_s8",
    (OpKind.MatMul, False, DType.Int16): "mat_mul_s16",
    (OpKind.MatMul, False, DType.Float32): "mat_mul_f32",
    (OpKind.Add, False, DType.Int8): "add_s8",
    (OpKind.Add, False, DType.Int16): "add_s16",
    (OpKind.Mul, False, DType.Int8): "mul_s8",
    (OpKind.Mul, False, DType.Int16): "mul_s16",
    (OpKind.MinMax, False, DType.Int8): "min_max_s8",
    (OpKind.MinMax, False, DType.Int16): "min_max_s16",
    (OpKind.PRelu, False, DType.Int8): "prelu_s8",
    (OpKind.PRelu, False, DType.Int16): "prelu_s16",
    (OpKind.Lut, False, DType.Int8): "lut_s8",
    (OpKind.Lut, False, DType.Int16): "lut_s16",
    (OpKind.ChannelLut, False, DType.Int8): "channel_lut_s8",
    (OpKind.ChannelLut, False, DType.Int16): "channel_lut_s16",
    (OpKind.Binary, False, DType.Float32): "binary_f32",
    (OpKind.Binary, False, DType.Int32): "binary_s32",
    (OpKind.Binary, False, DType.Int64): "binary_s64",
    (OpKind.Binary, False, DType.UInt64): "binary_u64",
    (OpKind.Binary, False, DType.Float64): "binary_f64",
    (OpKind.Binary, False, DType.Int8): "binary_s8",
    (OpKind.Binary, False, DType.Int16): "binary_s16",
    (OpKind.Unary, False, DType.Float32): "unary_f32",
    (OpKind.Compare, False, None): "compare",
    (OpKind.Where, False, None): "where",
    (OpKind.MaxPool2d, False, DType.Int8): "max_pool2d_s8",
    (OpKind.MaxPool2d, False, DType.Int16): "max_pool2d_s16",
    (OpKind.MaxPool2d, False, DType.Float32): "max_pool2d_f32",
    (OpKind.AvgPool2d, False, DType.Int8): "avg_pool2d_s8",
    (OpKind.AvgPool2d, False, DType.Int16): "avg_pool2d_s16",
    (OpKind.AvgPool2d, False, DType.Float32): "avg_pool2d_f32",
    (OpKind.Reduce, False, DType.Int8): "reduce_s8",
    (OpKind.Reduce, False, DType.Int16): "reduce_s16",
    (OpKind.Reduce, False, DType.Float32): "reduce_f32",
    (OpKind.Softmax, False, DType.Int8): "softmax_s8",
    (OpKind.Softmax, False, DType.Int16): "softmax_s16",
    (OpKind.Softmax, False, DType.Float32): "softmax_f32",
    (OpKind.LayerNorm, False, DType.Int8): "layer_norm_s8",
    (OpKind.LayerNorm, False, DType.Int16): "layer_norm_s16",
    (OpKind.LayerNorm, False, DType.Float32): "layer_norm_f32",
    (OpKind.ArgMax, False, DType.Int8): "arg_max_s8",
    (OpKind.ArgMax, False, DType.Int16): "arg_max_s16",
    (OpKind.ArgMax, False, DType.Float32): "arg_max_f32",
    (OpKind.Resize, False, DType.Int8): "resize_s8",
    (OpKind.Resize, False, DType.Int16): "resize_s16",
    (OpKind.Resize, False, DType.Float32): "resize_f32",
    (OpKind.Concat, False, None): "concat",
    (OpKind.Copy, False, None): "copy",
    (OpKind.Pad, False, None): "pad",
    (OpKind.Gather, False, None): "gather",
    (OpKind.Cast, False, None): "cast",
    (OpKind.Dequantize, False, DType.Int8): "dequantize_s8",
    (OpKind.Dequantize, False, DType.Int16): "dequantize_s16",
    (OpKind.Dequantize, True, DType.Int8): "quantize_s8",
    (OpKind.Dequantize, True, DType.Int16): "quantize_s16",
    (OpKind.Requantize, False, None): "requantize",
    (OpKind.TreeEnsemble, False, DType.Float32): "tree_ensemble_f32",
    (OpKind.Recurrent, False, DType.Int16): "recurrent_s16",
    (OpKind.Recurrent, False, DType.Float32): "recurrent_f32",
    (OpKind.Convert, False, None): "convert",
    (OpKind.Distance, False, DType.Float32): "distance_f32",
    (OpKind.PairwiseCoupling, False, DType.Float32): "pairwise_coupling_f32",
    (OpKind.Math, False, DType.Float32): "math_f32",
    (OpKind.Math, False, DType.Int32): "math_s32",
    (OpKind.Math, False, DType.Int64): "math_s64",
    (OpKind.Math, False, DType.UInt64): "math_u64",
    (OpKind.Math, False, DType.Float64): "math_f64",
    (OpKind.Scatter, False, DType.Int8): "scatter_s8",
    (OpKind.Scatter, False, DType.Int16): "scatter_s16",
    (OpKind.Scatter, False, DType.Float32): "scatter_f32",
    (OpKind.Scatter, False, DType.Int32): "scatter_s32",
    (OpKind.Scatter, False, DType.Int64): "scatter_s64",
    (OpKind.Scatter, False, DType.UInt64): "scatter_u64",
    (OpKind.Scatter, False, DType.Float64): "scatter_f64",
    (OpKind.TopK, False, DType.Int8): "top_k_s8",
    (OpKind.TopK, False, DType.Int16): "top_k_s16",
    (OpKind.TopK, False, DType.Float32): "top_k_f32",
    (OpKind.TopK, False, DType.Int32): "top_k_s32",
    (OpKind.TopK, False, DType.Int64): "top_k_s64",
    (OpKind.TopK, False, DType.UInt64): "top_k_u64",
    (OpKind.TopK, False, DType.Float64): "top_k_f64",
    (OpKind.NonZero, False, None): "non_zero",
    (OpKind.NonMaxSuppression, False, DType.Float32): "non_max_suppression_f32",
    (OpKind.Custom, False, None): "custom",
    (OpKind.Region, False, None): "region",
}

# table name -> field -> slot number
SLOTS: dict[str, dict[str, int]] = {
    "Io": {
        "name": 0,
        "tensor": 1,
        "onnx_dtype": 2,
        "shape": 3,
        "labels": 4,
        "counted_by": 5,
        "counted_axis": 6,
        "axes": 7,
    },
    "State": {
        "input": 0,
        "output": 1,
        "tensor": 2,
    },
    "Symbol": {
        "name": 0,
        "lowest": 1,
        "highest": 2,
        "step": 3,
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
        "starts": 16,
        "states": 17,
        "empty_inputs": 18,
        "empty_outputs": 19,
        "symbols": 20,
        "expressions": 21,
        "varying": 22,
    },
}
