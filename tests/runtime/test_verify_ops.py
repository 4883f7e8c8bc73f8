"""The operators' own checks, each broken once: the first number that is too much, the last good."""

import struct
from dataclasses import replace

import numpy as np
import pytest

from edgekit.runtime_c._ffi import ffi, lib
from edgekit.toolkit.format.schema import STRUCTS, DType
from edgekit.toolkit.format.writer import write
from edgekit.toolkit.runtime.model import aligned

from .conftest import CASES

INTEGERS = (DType.Int8, DType.Int16)


def opens(model):
    data = write(model)
    memory = aligned(len(data))
    memory[:] = np.frombuffer(data, np.uint8)
    at = ffi.cast("void *", memory.ctypes.data)
    found = lib.ek_model_open(ffi.new("ek_model *"), at, len(data), lib.EK_OPEN_DEFAULT)
    assert found in (lib.EK_OK, lib.EK_ERR_CORRUPT)
    return found == lib.EK_OK


def with_params(model, i=0, **params):
    ops = list(model.ops)
    ops[i] = replace(ops[i], params={**ops[i].params, **params})
    return replace(model, ops=ops)


def with_blob(model, code, at, value):
    blob = bytearray(model.blob)
    struct.pack_into("<" + code, blob, at, value)
    return replace(model, blob=bytes(blob))


def holding(field):
    """Names of the forms of integers whose parameters have this field."""
    return [
        name
        for name, form in CASES.items()
        if field in STRUCTS[form.kind.name][1] and form.element in (None, *INTEGERS)
    ]


INT8 = {"multiplier": [(2**30, True), (1, True), (0, False), (-(2**30), False)],
        "shift": [(-30, True), (-31, False), (31, False), (-128, False)]}  # fmt: skip
INT16 = {"multiplier": [(2**22, True), (2**22 - 1, False), (2**23 - 1, True), (2**23, False)],
         "shift": [(1, True), (0, False), (62, True), (63, False), (255, False)]}  # fmt: skip


def tables():
    """(form, int16) of those whose multipliers and shifts are in a table."""
    for field in ("requant.table", "counts"):
        for name in holding(field):
            yield name, CASES[name].element is DType.Int16


@pytest.mark.parametrize(("form", "wide"), list(tables()))
def test_multipliers_and_shifts_of_a_table(corpus, form, wide):
    model = corpus.one_operator(form)
    p = model.ops[0].params
    if "counts" in p:
        table, biases, n = p["table"], 0, p["counts"]
    else:
        n = next(p[k] for k in ("n", "hidden", "geometry.out_c") if k in p)  # hidden: of an RNN
        phases = p["geometry.stride_h"] * p["geometry.stride_w"] if "transpose" in form else 1
        table, biases = p["requant.table"], n if wide else n * phases
    rules = INT16 if wide else INT8
    for channel in (0, n - 1):
        for value, good in rules["multiplier"]:
            at = table + 4 * (biases + channel)
            assert opens(with_blob(model, "i", at, value)) == good, f"multiplier {value}"
        for value, good in rules["shift"]:
            at = table + 4 * (biases + n) + channel
            found = opens(with_blob(model, "B", at, value % 256))
            assert found == good, f"shift {value}"


@pytest.mark.parametrize("form", holding("multiplier"))
def test_a_multiplier_and_a_shift_in_the_program(corpus, form):
    model = corpus.one_operator(form)
    if form.startswith("prelu"):
        limit = 2**22 if form == "prelu_s8" else 2**23
        rules = {
            "multiplier": [(limit, True), (limit + 1, False), (-limit, True), (-limit - 1, False)],
            "shift": [(1, True), (0, False), (30, True), (31, False), (-1, False)],
        }
    else:
        rules = INT8 if CASES[form].element is DType.Int8 else INT16
    for field, values in rules.items():
        for value, good in values:
            assert opens(with_params(model, **{field: value})) == good, f"{field} {value}"


@pytest.mark.parametrize(
    ("form", "shift", "good"),
    [("mul_s8", 14, True), ("mul_s8", 15, False),
     ("mat_mul_s8", 13, True), ("mat_mul_s8", 14, False),
     ("reduce_s8", 16, True), ("reduce_s8", 17, False),
     ("add_s8", 30, True), ("add_s8", 31, False), ("add_s8", -1, False),
     ("add_s16", 40, True), ("add_s16", 41, False), ("add_s16", 0, False)],
)  # fmt: skip
def test_sums_have_room_to_be_shifted_left(corpus, form, shift, good):
    """4 products of up to 131 * 129, 5 sixteenfold differences of up to 131, below 2^30 shifted."""
    assert opens(with_params(corpus.one_operator(form), shift=shift)) == good


@pytest.mark.parametrize("form", holding("qmin") + holding("requant.qmin"))
def test_the_lowest_is_not_above_the_highest(corpus, form):
    """Kernels clamp in either order."""
    model = corpus.one_operator(form)
    at = "requant." if "requant.qmin" in model.ops[0].params else ""
    for low, high, good in ((5, 5, True), (6, 5, False)):
        clamp = {f"{at}qmin": low, f"{at}qmax": high}
        assert opens(with_params(model, **clamp)) == good
    if not any(t.dtype is DType.Int16 for t in model.tensors):
        assert not opens(with_params(model, **{f"{at}qmax": 128}))
        assert not opens(with_params(model, **{f"{at}qmin": -129}))


@pytest.mark.parametrize("axis", ["h", "w"])
@pytest.mark.parametrize(("pad", "good"), [(16383, True), (16384, False)])
def test_the_reach_of_a_convolution_fits_its_coordinates(corpus, axis, pad, good):
    """1 + 16384 * 65535 + 16383 is 2^30."""
    f = corpus.FileMaker()
    g = corpus.geometry(1, 1, in_hw=(1, 1), kernel=(1, 1), stride=(1, 1), pads=(0, 0))
    g = {**g, f"geometry.kernel_{axis}": 16384, f"geometry.dilation_{axis}": 65535}
    g["geometry.pad_top" if axis == "h" else "geometry.pad_left"] = pad
    corpus.convolution(f, CASES["conv2d_s8"], g, 16384)
    assert opens(f.model()) == good


@pytest.mark.parametrize("field", ["in_c", "out_c", "groups", "kernel_h", "stride_w", "dilation_h"])
def test_no_size_of_a_convolution_is_0(corpus, field):
    assert not opens(with_params(corpus.one_operator("conv2d_s8"), **{f"geometry.{field}": 0}))


def test_groups_divide_the_channels(corpus):
    model = corpus.one_operator("conv2d_f32")
    assert not opens(with_params(model, **{"geometry.groups": 3}))


@pytest.mark.parametrize("form", ["softmax_s8", "softmax_s16"])
def test_the_largest_exponential_is_not_0_and_sums_fit(corpus, form):
    """The sum is divided by: it is the largest's at least."""
    model = corpus.one_operator(form)
    table = model.ops[0].params["table"]
    assert opens(with_blob(model, "I", table + 4, 0))
    assert not opens(with_blob(model, "I", table, 0))
    most = 2**23 if form == "softmax_s8" else 2**16
    assert opens(with_blob(model, "I", table + 4 * 255, most))
    assert not opens(with_blob(model, "I", table + 4 * 255, most + 1))
    if form == "softmax_s16":
        low = table + 4 * 256
        assert not opens(with_blob(model, "H", low, 0))
        assert not opens(with_blob(model, "H", low + 2 * 255, 2**15 + 1))


@pytest.mark.parametrize(
    ("before", "size", "total", "good"),
    [(0, 3, 5, True), (0, 3, 6, False), (2, 3, 5, True), (3, 3, 6, False), (2, 3, 7, True)],
)
@pytest.mark.parametrize("axis", range(4))
def test_a_mirrored_border_is_narrower_than_what_it_mirrors(
    corpus, axis, before, size, total, good
):
    def dims(n):
        return tuple(n if d == axis else 1 for d in range(4))

    f = corpus.FileMaker()
    p = corpus.indexed(
        in_dims=dims(size), before=tuple(before * (d == axis) for d in range(4)),
        out_dims=dims(total),
    )  # fmt: skip
    x = f.input(DType.Int8, size)
    f.output(f.op(CASES["pad"], [x], DType.Int8, total, **p, element_bytes=1, mode=1, value=0))
    assert opens(f.model()) == good


@pytest.mark.parametrize("form", ["resize_s8", "resize_s16"])
def test_sources_and_weights_of_rows_and_columns(corpus, form):
    """3 x 4 to 6 x 7."""
    model = corpus.one_operator(form)
    table, one = model.ops[0].params["table"], 2**11 if form == "resize_s8" else 2**15
    begin = {"rows": (table, 6, 3), "columns": (table + 4 * 3 * 6, 7, 4)}
    for where, (at, count, size) in begin.items():
        for part, values in (
            ("lo", [(size - 1, True), (size, False), (-1, False)]),
            ("hi", [(size - 1, True), (size, False), (-1, False)]),
            ("weight", [(one, True), (one + 1, False), (0, True), (-1, False)]),
        ):
            for entry in (0, count - 1):
                place = at + 4 * (("lo", "hi", "weight").index(part) * count + entry)
                for value, good in values:
                    found = opens(with_blob(model, "i", place, value))
                    assert found == good, (where, part, entry, value)


@pytest.mark.parametrize("form", ["avg_pool2d_s8", "avg_pool2d_s16"])
def test_an_average_has_a_divisor_for_every_count_or_one_for_all(corpus, form):
    """Of windows of 3 x 2."""
    model = corpus.one_operator(form)
    entry = struct.pack("<i", 5 << 20 if form == "avg_pool2d_s16" else 2**30)
    for counts in range(8):
        at = len(model.blob) + -len(model.blob) % 16
        blob = model.blob + bytes(at - len(model.blob)) + entry * counts
        blob += bytes([24 if form == "avg_pool2d_s16" else 0]) * counts
        found = opens(with_params(replace(model, blob=blob), table=at, counts=counts))
        assert found == (counts in (1, 6)), counts


def test_a_mean_of_many_has_room(corpus):
    """n * 16 * 131 << shift is below 2^30."""
    n = 2**30 // (16 * 131)
    for count in (n, n + 1):
        f = corpus.FileMaker()
        x = f.input(DType.Int8, count)
        p = {"multiplier": 2**30, "shift": 0, "fn": 0, **corpus.S8}
        f.output(f.op(CASES["reduce_s8"], [x], DType.Int8, 1, **corpus.view(1, count, 1), **p))
        assert opens(f.model()) == (count == n)


@pytest.mark.parametrize("form", holding("index"))
def test_a_channel_has_a_table_that_is_there(corpus, form):
    model = corpus.one_operator(form)
    last = model.ops[0].params["index"] + 6
    assert opens(with_blob(model, "B", last, 1))
    assert not opens(with_blob(model, "B", last, 2))


@pytest.mark.parametrize("form", [n for n in CASES if n.endswith(("-nibbles", "-crumbs"))])
def test_multipliers_of_groups_are_1_to_16(corpus, form):
    model = corpus.one_operator(form)
    i = next(i for i, op in enumerate(model.ops) if op.params["codec.group"])
    at = model.ops[i].params["codec.auxiliary"]
    for value, good in ((1, True), (16, True), (0, False), (17, False)):
        assert opens(with_blob(model, "B", at, value)) == good


@pytest.mark.parametrize("form", CASES)
def test_an_operator_has_the_outputs_that_it_says(corpus, form):
    model = corpus.one_operator(form)
    op = model.ops[0]
    for outputs in ((), (*op.outputs, *op.outputs), (*op.outputs, model.ops[-1].outputs[0])):
        assert not opens(replace(model, ops=[replace(op, outputs=outputs), *model.ops[1:]]))
