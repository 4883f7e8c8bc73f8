"""The Python session against what the file says should come out."""

from dataclasses import replace

import numpy as np
import pytest

from edgekit.runtime_c._ffi import ffi, lib
from edgekit.toolkit.build import build_file
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.format.schema import DType, OpKind, Place
from edgekit.toolkit.format.writer import write
from edgekit.toolkit.ir import Graph, Node, Port, QuantParams, TensorType, Value
from edgekit.toolkit.runtime import Model, OpForm, Session, kernel_tables, scratch_bytes

from .conftest import CASES

X = np.array([[-1.3, 0.0, 7.25], [100.0, -100.0, np.nan]], np.float32)
QX = QuantParams((0.5,), -4)


@pytest.fixture(scope="module")
def chain(corpus):
    return write(corpus.chain())


def table(q):
    """What the two tables of the chain do, one after the other."""
    return (-1 - (-1 - q.astype(np.int32))).astype(np.int8)


@pytest.fixture(params=kernel_tables())
def session(request, chain):
    return Session(chain, request.param)


def test_floats_go_in_and_come_out(session):
    y = session.run({"x0": X})["y0"]
    assert y.dtype == np.float32
    np.testing.assert_array_equal(y, QuantParams((0.5,), 3).dequantize(table(QX.quantize(X))))


def test_raw_outputs_are_the_integers(session):
    raw = session.run_raw({"x0": X})["y0"]
    assert raw.dtype == np.int8
    np.testing.assert_array_equal(raw, table(QX.quantize(X)))


def test_quantized_input_is_taken_as_it_is(session):
    q = np.array([[-128, 127, 0], [1, 2, 3]], np.int8)
    np.testing.assert_array_equal(session.run_raw({"x0": q})["y0"], table(q))


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_other_floats_are_converted(session, dtype):
    x = np.array([[1, 2, 3], [4, 5, 6.5]], dtype)
    want = session.run({"x0": x.astype(np.float32)})["y0"]
    np.testing.assert_array_equal(session.run({"x0": x})["y0"], want)


def test_strided_inputs_are_read_in_their_order(session):
    x = np.arange(12, dtype=np.float32).reshape(3, 4)[:, ::2].T
    want = session.run({"x0": x.copy()})["y0"]
    np.testing.assert_array_equal(session.run({"x0": x})["y0"], want)


def test_inputs_and_outputs_are_described(session):
    (x,), (y,) = session.inputs, session.outputs
    assert (x.name, x.shape, x.dtype, x.onnx_dtype) == ("x0", (2, 3), np.int8, np.float32)
    assert (x.scale, x.zero_point, y.scale, y.zero_point) == (0.5, -4, 0.5, 3)


@pytest.mark.parametrize(
    ("feed", "says"),
    [
        ({}, "no input 'x0' given"),
        ({"x0": X, "z": X}, "no input 'z'; the model's are: x0"),
        ({"x0": X[:1]}, "'x0': 1 sample for a model that takes 2 at a time; give a multiple of 2"),
        ({"x0": X[:, :2]}, r"'x0': shape \[2, 2\]; give \[2, 3\] for one sample or \[N, 3\]"),
        ({"x0": np.ones((2, 3), np.int64)}, "'x0': expected float32 .*int8.* got int64"),
        ({"x0": np.array([["a"] * 3] * 2)}, "'x0': expected float32"),
    ],
)
def test_a_wrong_feed_is_named(session, feed, says):
    with pytest.raises(UserError, match=says):
        session.run(feed)


def test_every_layer_is_shown_while_it_is_there(session):
    seen = []
    y = session.run_layers({"x0": X}, lambda i, name, a: seen.append((i, name, a.copy())))
    q = QX.quantize(X)
    assert [(i, name) for i, name, _ in seen] == [(0, "op0"), (1, "op1")]
    np.testing.assert_array_equal(seen[0][2], -1 - q.astype(np.int32))
    np.testing.assert_array_equal(seen[1][2], table(q))
    np.testing.assert_array_equal(y["y0"], session.run({"x0": X})["y0"])
    first = session.op_outputs[0]
    assert (first.kind, first.shape, first.scale, first.zero_point) == (
        OpKind.Lut,
        (2, 3),
        0.25,
        7,
    )


def test_a_callback_that_raises_leaves_a_session_that_works(session):
    want = session.run({"x0": X})["y0"]
    with pytest.raises(ZeroDivisionError):
        session.run_layers({"x0": X}, lambda i, name, a: 1 // 0)
    np.testing.assert_array_equal(session.run({"x0": X})["y0"], want)


def test_layers_cannot_be_written_and_outlive_the_session(chain):
    kept = []
    session = Session(chain)
    session.run_layers({"x0": X}, lambda i, name, a: kept.append(a))
    del session
    assert kept[1].shape == (2, 3)
    with pytest.raises(ValueError, match="read-only"):
        kept[0][0, 0] = 1


def test_profile_has_a_time_per_operator(session):
    seconds = session.profile({"x0": X})
    assert len(seconds) == 2
    assert all(s >= 0 for s in seconds)


def test_sessions_share_a_model_and_nothing_else(chain):
    model = Model(chain)
    a, b = Session(model), Session(model, "ref")
    low, high = np.full((2, 3), -128, np.int8), np.full((2, 3), 127, np.int8)
    for _ in range(3):
        assert (a.run_raw({"x0": low})["y0"] == -128).all()
        assert (b.run_raw({"x0": high})["y0"] == 127).all()


def test_outputs_are_the_callers(session):
    first = session.run_raw({"x0": np.zeros((2, 3), np.int8)})["y0"]
    session.run_raw({"x0": np.ones((2, 3), np.int8)})
    assert (first == 0).all()


def test_an_unknown_table_is_refused(chain):
    with pytest.raises(UserError, match=r"no kernel table 'm5'.*there are: ref"):
        Session(chain, "m5")


def test_integers_have_the_onnx_type_outside(corpus):
    f = corpus.FileMaker()
    x = f.input(DType.Int32, 3, onnx=7)
    f.output(x, onnx=7)
    session = Session(write(f.model()))
    y = session.run({"x0": np.array([1, -2, 2**31 - 1])})["y0"]
    assert y.dtype == np.int64
    assert y.tolist() == [1, -2, 2**31 - 1]
    with pytest.raises(UserError, match=r"'x0'.*2147483648 do not fit int32"):
        session.run({"x0": np.array([0, 0, 2**31])})


def test_bools_are_bools_outside(corpus):
    f = corpus.FileMaker()
    f.output(f.input(DType.UInt8, 3, onnx=9), onnx=9)
    session = Session(write(f.model()))
    assert session.inputs[0].onnx_dtype == np.bool_
    y = session.run({"x0": np.array([True, False, True])})["y0"]
    assert y.dtype == np.bool_
    assert y.tolist() == [True, False, True]


def test_bools_are_0_or_1_inside(corpus):
    """Whoever computes with them, as Cast to float does, counts on it."""
    f = corpus.FileMaker()
    f.output(f.input(DType.UInt8, 4, onnx=9), onnx=2)
    y = Session(write(f.model())).run({"x0": np.array([0, 1, 2, 255], np.uint8)})["y0"]
    assert y.tolist() == [0, 1, 1, 1]


def test_a_computed_index_out_of_range_is_an_error(corpus):
    session = Session(write(corpus.one_operator("gather")))
    x = np.zeros((2, 5, 3), np.float32)
    session.run({"x0": x, "x1": np.array([0, 4, -1, -5], np.int32)})
    for bad in (5, -6, 2**31 - 1, -(2**31)):
        with pytest.raises(UserError, match="index"):
            session.run({"x0": x, "x1": np.array([0, 4, -1, bad], np.int32)})


def test_kernel_tables_agree_on_every_operator(corpus):
    for form in CASES:
        data = write(corpus.one_operator(form))
        results = []
        for name in kernel_tables():
            session = Session(data, name)
            rng = np.random.default_rng(3)
            feed = {}
            for io in session.inputs:
                x = rng.normal(size=io.shape) * (1 if io.dtype.kind == "f" else 40)
                if form.startswith(("gather", "scatter")) and io.dtype == np.int32:
                    x = x % 5
                feed[io.name] = x.astype(io.dtype)
            results.append(session.run_raw(feed))
        for other in results[1:]:
            for name, want in results[0].items():
                if want.dtype.kind == "f":
                    np.testing.assert_allclose(other[name], want, rtol=1e-5, atol=1e-5)
                else:
                    np.testing.assert_array_equal(other[name], want, err_msg=form)


FLOATS = np.concatenate([
    np.random.default_rng(0).normal(size=5000).astype(np.float32) * 60,
    np.arange(-300, 300, dtype=np.float32) * np.float32(0.125),
    np.array([np.nan, -np.nan, np.inf, -np.inf, 1e38, -1e38, 1e-45, 0.0, -0.0], np.float32),
])  # fmt: skip


@pytest.mark.parametrize("kernels", [None, *kernel_tables()])
def test_quantizing_is_the_ir_to_the_bit(kernels):
    chosen = ffi.NULL if kernels is None else lib.ek_kernels_select(kernels.encode())
    x_at = ffi.from_buffer("float[]", FLOATS)
    for params in (QuantParams((0.25,), 0), QuantParams((0.37,), -128), QuantParams((1.1,), 127)):
        q, scale, zero = np.empty(FLOATS.size, np.int8), params.scalar, params.zero_point
        q_at = ffi.from_buffer("int8_t[]", q)
        lib.ek_quantize_f32_s8(chosen, q_at, x_at, FLOATS.size, scale, zero)
        with np.errstate(over="ignore"):
            want = params.quantize(FLOATS)
        np.testing.assert_array_equal(q, want)
        back = np.empty(FLOATS.size, np.float32)
        lib.ek_dequantize_s8_f32(ffi.from_buffer("float[]", back), q_at, FLOATS.size, scale, zero)
        np.testing.assert_array_equal(back, params.dequantize(q))


@pytest.mark.parametrize("kernels", [None, *kernel_tables()])
@pytest.mark.parametrize("scale", [0.25, 0.0037, 1e-30])
def test_quantizing_to_int16_is_the_ir_to_the_bit(kernels, scale):
    chosen = ffi.NULL if kernels is None else lib.ek_kernels_select(kernels.encode())
    q, params = np.empty(FLOATS.size, np.int16), QuantParams.int16(scale)
    x_at, q_at = ffi.from_buffer("float[]", FLOATS), ffi.from_buffer("int16_t[]", q)
    lib.ek_quantize_f32_s16(chosen, q_at, x_at, FLOATS.size, params.scalar)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(q, params.quantize(FLOATS))


def test_scratch_of_an_operator_that_is_not_there():
    assert scratch_bytes(None, OpForm(OpKind.Concat, None, bytes(8))) == 0
    for missing in (OpForm(999, None, bytes(8)), OpForm(OpKind.Lut, 0, bytes(8))):
        with pytest.raises(ValueError, match=f"kind {int(missing.kind)}"):
            scratch_bytes(None, missing)


def test_int16_goes_in_and_comes_out():
    x = Value("x", TensorType(np.dtype(np.int16), (2, 4)), quant=QuantParams.int16(0.5))
    y = Value("y", TensorType(np.dtype(np.int16), (4, 2)), quant=x.quant)
    turn = Node("Transpose", [x], [y], {"perm": (1, 0)})
    ports = [Port("x", x, 1, (2, 4))], [Port("y", y, 1, (4, 2))]
    session = Session(build_file(Graph([turn], *ports)))
    real = np.array([[-0.75, 0.25, np.nan, np.inf], [-np.inf, 1e9, -0.0, 12345.3]], np.float32)
    q = x.quant.quantize(real)
    assert q.dtype == np.int16 and q.tolist() == [[-2, 0, 0, 32767], [-32767, 32767, 0, 24691]]
    np.testing.assert_array_equal(session.run_raw({"x": real})["y"], q.T)
    np.testing.assert_array_equal(session.run({"x": real})["y"], x.quant.dequantize(q.T))
    raw = np.array([[-32768, 32767, 1, 2], [3, 4, 5, 6]], np.int16)
    np.testing.assert_array_equal(session.run_raw({"x": raw})["y"], raw.T)
    with pytest.raises(UserError, match="int16, quantized"):
        session.run({"x": raw.astype(np.int8)})


def test_a_small_file_that_claims_much_memory_is_refused(corpus):
    made = corpus.chain()
    file = write(replace(made, memory=replace(made.memory, arena_bytes=0xF0000000)))
    assert len(file) < 4096
    for limit, words in (({}, "1.0 GiB"), ({"max_memory": 1 << 20}, "1.0 MiB")):
        says = f"model: needs 3.8 GiB of memory to run; the limit is {words}. .*raise max_memory"
        with pytest.raises(UserError, match=says):
            Session(file, **limit)
    small = Session(write(made))
    assert Session(write(made), max_memory=small.memory_bytes).memory_bytes == small.memory_bytes
    with pytest.raises(UserError, match="raise max_memory"):
        Session(write(made), max_memory=small.memory_bytes - 1)


def test_the_limit_on_memory_can_be_raised_or_lifted(corpus):
    """The memory is only claimed: pages that no run touches cost nothing."""
    made = corpus.chain()
    file = write(replace(made, memory=replace(made.memory, arena_bytes=(1 << 30) + 4096)))
    for limit in (2 << 30, None):
        assert Session(file, max_memory=limit).run({"x0": X})["y0"].shape == (2, 3)


def test_state_is_kept_between_runs_until_a_reset(corpus):
    """y = table(state), then state = table(x): each run answers what the last one was given."""
    f = corpus.FileMaker()
    reverse = np.arange(127, -129, -1).astype(np.int8)  # q -> -1 - q
    at = f.constant(reverse)
    x = f.input(DType.Int8, 4, scale=1.0, onnx=1)
    state = f.tensor(DType.Int8, 4, scale=1.0, place=Place.Persistent, offset=0)
    params = {"count": 4, "table": at}
    f.output(f.op(corpus.FORMS["lut_s8"], [state], DType.Int8, 4, quant=(1.0, 0), **params), onnx=1)
    last = f.op(corpus.FORMS["lut_s8"], [x], DType.Int8, 4, quant=(1.0, 0), **params)
    made = f.model()
    ops = [*made.ops[:1], replace(made.ops[1], outputs=(state,))]
    tensors = [*made.tensors]
    assert last == len(tensors) - 1
    memory = replace(made.memory, persistent_bytes=16)
    session = Session(write(replace(made, tensors=tensors[:-1], ops=ops, memory=memory)))
    for _ in range(2):
        first, second = np.int8([1, 2, 3, -4]), np.int8([9, 8, 7, 6])
        assert session.run_raw(first)["y0"].tolist() == [-1] * 4
        assert session.run_raw(second)["y0"].tolist() == first.tolist()
        assert session.run_raw(second)["y0"].tolist() == second.tolist()
        session.reset()


def test_a_run_after_an_error_begins_at_the_first_operator(corpus):
    f = corpus.FileMaker()
    for _ in range(2):
        corpus.maker_of(corpus.FORMS["gather"])(f, corpus.FORMS["gather"])
    session = Session(write(f.model()))
    rng = np.random.default_rng(0)
    good = {io.name: rng.random(io.shape).astype(io.dtype) for io in session.inputs}
    want = session.run(good)
    bad = {**good, "x3": np.full_like(good["x3"], 99)}
    for use in (session.profile, lambda feed: session.run_layers(feed, lambda *_: None)):
        with pytest.raises(UserError, match="index"):
            use(bad)
        layers = {}
        other = {**good, "x0": good["x0"] + 1}
        session.run_layers(other, lambda i, name, y, layers=layers: layers.update({i: y.copy()}))
        np.testing.assert_array_equal(layers[0], want["y0"] + 1)
        assert sorted(layers) == [0, 1]


def test_any_byte_but_zero_is_true(corpus):
    f = corpus.FileMaker()
    f.output(f.input(DType.UInt8, 4, onnx=9), onnx=9)
    session = Session(write(f.model()))
    feed = {"x0": np.array([0, 1, 2, 255], np.uint8)}
    assert [a.tolist() for a in session.to_raw(feed)] == [[0, 1, 1, 1]]
    assert session.run_raw(feed)["y0"].tolist() == [0, 1, 1, 1]
