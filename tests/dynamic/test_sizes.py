"""One file at many sizes: onnxruntime's values, and the work of a static file."""

import numpy as np
import onnx
import onnxruntime
import pytest

from edgekit.toolkit import pipeline
from edgekit.toolkit.dynamic import Range
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.format.reader import read_file
from edgekit.toolkit.format.varying import Varying
from edgekit.toolkit.runtime import Session, kernel_tables

RNG = np.random.default_rng(5)

SEQUENCE = """
<ir_version: 8, opset_import: ["" : 17]>
sequence (int64[1,seq] ids, float[1,seq] mask) => (float[1,seq,8] out, float[1,8] mean) {
  shape = Shape (ids)
  length = Gather <axis: int = 0> (shape, one_index)
  end = Unsqueeze (length, zero)
  place = Slice (places, zero, end, zero)
  word = Gather (words, ids)
  x = Add (word, place)
  n = LayerNormalization <axis: int = -1> (x, scale, bias)
  q = MatMul (n, wq)
  k = MatMul (n, wk)
  heads = Concat <axis: int = 0> (one, end, two, four)
  qh = Reshape (q, heads)
  kh = Reshape (k, heads)
  qt = Transpose <perm: ints = [0,2,1,3]> (qh)
  kt = Transpose <perm: ints = [0,2,3,1]> (kh)
  scores = MatMul (qt, kt)
  mask4 = Unsqueeze (mask, one_two)
  masked = Add (scores, mask4)
  p = Softmax <axis: int = -1> (masked)
  vt = Transpose <perm: ints = [0,2,1,3]> (kh)
  y = MatMul (p, vt)
  yt = Transpose <perm: ints = [0,2,1,3]> (y)
  flat = Concat <axis: int = 0> (one, end, eight)
  z = Reshape (yt, flat)
  out = Add (z, x)
  mean = ReduceMean <axes: ints = [1], keepdims: int = 0> (out)
}
"""

IMAGE = """
<ir_version: 8, opset_import: ["" : 17]>
image (float[1,3,h,w] x) => (float[1,n,h2,w2] out) {
  a = Conv <pads: ints = [1,1,1,1], strides: ints = [2,2]> (x, first)
  r = Relu (a)
  b = MaxPool <kernel_shape: ints = [3,3], pads: ints = [1,1,1,1], strides: ints = [2,2]> (r)
  g = GlobalAveragePool (b)
  s = Sigmoid (g)
  m = Mul (b, s)
  u = Resize <mode: string = "nearest", coordinate_transformation_mode: string = "asymmetric",
              nearest_mode: string = "floor"> (m, , double)
  d = Conv <pads: ints = [1,1,1,1], group: int = 4> (r, depthwise)
  c = Concat <axis: int = 1> (u, d)
  out = ConvTranspose <strides: ints = [2,2]> (c, up)
}
"""


TURNED = """
<ir_version: 8, opset_import: ["" : 17]>
turned (float[h,w,5] x) => (float[w,h,4] out) {
  y = Transpose <perm: ints = [1,0,2]> (x)
  z = MatMul (y, w)
  out = Relu (z)
}
"""


HALVED = """
<ir_version: 8, opset_import: ["" : 17]>
halved (float[1,1,h,4] x) => (float[1,1,h,4] out) {
  s = AveragePool <kernel_shape: ints = [2,1], strides: ints = [2,1]> (x)
  two = Constant <value_floats: floats = [1.0, 1.0, 2.0, 1.0]> ()
  u = Resize <mode: string = "nearest", coordinate_transformation_mode: string = "asymmetric",
              nearest_mode: string = "floor"> (s, , two)
  out = Add (x, u)
}
"""


def ints(*values):
    return np.array(values, np.int64)


def reals(*shape):
    return RNG.normal(0, 0.5, shape).astype(np.float32)


def saved(folder, text, **constants):
    model = onnx.parser.parse_model(text)
    model.graph.initializer.extend(onnx.numpy_helper.from_array(a, n) for n, a in constants.items())
    path = folder / f"{model.graph.name}.onnx"
    onnx.save(model, path)
    return path


@pytest.fixture(scope="module")
def sequence(tmp_path_factory):
    return saved(
        tmp_path_factory.mktemp("sequence"), SEQUENCE,
        one_index=np.array(1, np.int64), zero=ints(0), one=ints(1), two=ints(2), four=ints(4),
        eight=ints(8), one_two=ints(1, 2), places=reals(40, 8), words=reals(30, 8),
        scale=reals(8), bias=reals(8), wq=reals(8, 8), wk=reals(8, 8),
    )  # fmt: skip


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    return saved(
        tmp_path_factory.mktemp("image"), IMAGE, first=reals(4, 3, 3, 3),
        double=np.array([1, 1, 2, 2], np.float32), depthwise=reals(4, 1, 3, 3),
        up=reals(8, 2, 2, 2),
    )  # fmt: skip


def agrees(session, oracle, feed):
    found = session.run(feed)
    wanted = oracle.run(None, feed)
    for io, want in zip(oracle.get_outputs(), wanted, strict=True):
        assert found[io.name].shape == want.shape
        np.testing.assert_allclose(found[io.name], want, rtol=0, atol=1e-4)


def of_length(n):
    mask = np.zeros((1, n), np.float32)
    mask[0, n - n // 3 :] = -100
    return {"ids": RNG.integers(0, 30, (1, n)), "mask": mask}


@pytest.mark.parametrize("kernels", kernel_tables())
def test_a_sequence_of_any_length(sequence, tmp_path, kernels):
    edge = tmp_path / "sequence.edge"
    done = pipeline.convert(sequence, edge, dims={"seq": Range(1, 24)})
    assert "seq=1..24" in " ".join(done.notes)
    session, oracle = Session(edge, kernels), onnxruntime.InferenceSession(sequence)
    assert session.sizes == {"seq": 24}
    for n in (24, *range(1, 25), 7):
        agrees(session, oracle, of_length(n))
        assert session.sizes == {"seq": n}
        assert session.inputs[0].shape == (1, n)


@pytest.mark.parametrize("kernels", kernel_tables())
def test_an_image_of_any_size(image, tmp_path, kernels):
    edge = tmp_path / "image.edge"
    pipeline.convert(image, edge, shapes={"x": (1, 3, Range(4, 64, 4), Range(8, 48, 8))})
    session, oracle = Session(edge, kernels), onnxruntime.InferenceSession(image)
    for h, w in ((64, 48), (4, 8), (8, 48), (64, 8), (20, 32), (36, 24), (60, 40)):
        agrees(session, oracle, {"x": RNG.normal(size=(1, 3, h, w)).astype(np.float32)})


def test_few_sizes_with_the_same_operators_are_looked_for(tmp_path):
    """A Transpose moves nothing where a side is 1, and four sizes a side give few pairs."""
    turned = saved(tmp_path, TURNED, w=reals(5, 4))
    edge = tmp_path / "turned.edge"
    pipeline.convert(turned, edge, shapes={"x": (Range(1, 4), Range(1, 4), 5)})
    session, oracle = Session(edge), onnxruntime.InferenceSession(turned)
    for h in range(1, 5):
        for w in range(1, 5):
            agrees(session, oracle, {"x": RNG.normal(size=(h, w, 5)).astype(np.float32)})


def test_sizes_that_do_not_fit_are_told_with_the_remedy(tmp_path):
    """Half of 5 rows, twice as large, are 4."""
    halved = saved(tmp_path, HALVED)
    shape = (1, 1, Range(4, 8), 4)
    with pytest.raises(UserError, match=r"at h=5; .*LOW\.\.HIGH:STEP"):
        pipeline.convert(halved, tmp_path / "h.edge", shapes={"x": shape})
    pipeline.convert(halved, tmp_path / "h.edge", shapes={"x": (1, 1, Range(4, 8, 2), 4)})


def numbers_at(model, sizes):
    def at(n):
        return n.expression.value(sizes) if isinstance(n, Varying) else n

    return {
        op.name: (
            op.kind,
            {k: at(v) for k, v in op.params.items() if "table" not in k and "weights" not in k},
            [tuple(at(d) for d in model.tensors[t].shape) for t in (*op.inputs, *op.outputs)],
        )
        for op in model.ops
    }


def test_the_work_is_that_of_a_static_file(sequence, tmp_path):
    pipeline.convert(sequence, tmp_path / "any.edge", dims={"seq": Range(1, 32)})
    pipeline.convert(sequence, tmp_path / "four.edge", dims={"seq": 5})
    whole, static = read_file(tmp_path / "any.edge"), read_file(tmp_path / "four.edge")
    assert whole.symbols and not static.symbols
    assert numbers_at(whole, (5,)) == numbers_at(static, (5,))


def test_sizes_that_are_not_the_models(sequence, tmp_path):
    edge = tmp_path / "sequence.edge"
    pipeline.convert(sequence, edge, dims={"seq": Range(2, 24, 2)})
    session = Session(edge)
    for n in (26, 3, 0):
        with pytest.raises(UserError, match=r"seq is \d+; the file takes seq=2\.\.24:2"):
            session.run(of_length(n))
    with pytest.raises(UserError, match="seq is 4, and 8 in input 'ids'"):
        session.run({"ids": of_length(8)["ids"], "mask": of_length(4)["mask"]})
    session.run(of_length(12))
    session.bind({"seq": 6})
    assert session.outputs[0].shape == (1, 6, 8)
    with pytest.raises(UserError, match="no variable dimension 'sec'"):
        session.bind({"sec": 6})


LINEAR = """
<ir_version: 8, opset_import: ["" : 17]>
linear (float[1,1,h,8] x) => (float[1,1,g,8] out) {
  out = Resize <mode: string = "linear"> (x, , double)
}
"""


def test_what_cannot_vary_names_the_node(tmp_path):
    path = saved(tmp_path, LINEAR, double=np.array([1, 1, 2, 1], np.float32))
    with pytest.raises(UserError, match=r"Resize 'out.*depends on the sizes.*--shape"):
        pipeline.convert(path, dims={"h": Range(4, 32)})


def test_names_and_ranges_that_are_wrong(sequence):
    for dims, said in (
        ({"sex": Range(1, 8)}, r"no dimension 'sex'; did you mean 'seq'\?"),
        ({"seq": Range(1, 8, 2)}, "no range of sizes"),
        ({"seq": Range(8, 8)}, "no range of sizes"),
    ):
        with pytest.raises(UserError, match=said):
            pipeline.convert(sequence, dims=dims)
    with pytest.raises(UserError, match=r"dynamic dimensions \(seq\).*--dim seq=1\.\.N"):
        pipeline.convert(sequence)
    with pytest.raises(UserError, match="two ranges"):
        pipeline.convert(sequence, dims={"seq": Range(1, 8)}, shapes={"ids": (1, Range(1, 9))})


QUANTIZED = """
<ir_version: 8, opset_import: ["" : 17]>
quantized (float[1,seq,8] x) => (float[1,seq,4] out, float[1,4] mean_out) {
  xq = QuantizeLinear (x, s, zero)
  xd = DequantizeLinear (xq, s, zero)
  w = DequantizeLinear <axis: int = 1> (weights, scales)
  m = MatMul (xd, w)
  mq = QuantizeLinear (m, s2, zero)
  md = DequantizeLinear (mq, s2, zero)
  t = Transpose <perm: ints = [0,2,1]> (md)
  a = MatMul (md, t)
  aq = QuantizeLinear (a, s2, zero)
  ad = DequantizeLinear (aq, s2, zero)
  p = Softmax <axis: int = -1> (ad)
  pq = QuantizeLinear (p, s3, low)
  pd = DequantizeLinear (pq, s3, low)
  y = MatMul (pd, md)
  yq = QuantizeLinear (y, s2, zero)
  out = DequantizeLinear (yq, s2, zero)
  mean = ReduceMean <axes: ints = [1], keepdims: int = 0> (out)
  eq = QuantizeLinear (mean, s2, zero)
  mean_out = DequantizeLinear (eq, s2, zero)
}
"""


def test_integers_are_those_of_a_static_file(tmp_path):
    path = saved(
        tmp_path, QUANTIZED, s=np.float32(0.03), zero=np.int8(0), s2=np.float32(0.05),
        s3=np.float32(1 / 256), low=np.int8(-128),
        weights=RNG.integers(-127, 128, (8, 4)).astype(np.int8),
        scales=np.full(4, 0.01, np.float32),
    )  # fmt: skip
    done = pipeline.convert(path, tmp_path / "any.edge", dims={"seq": Range(1, 40)})
    assert done.ops["MatMul"] == {"int8": 2}
    session = Session(tmp_path / "any.edge")
    for n in (1, 2, 4, 17, 40):
        pipeline.convert(path, tmp_path / "static.edge", dims={"seq": n})
        feed = {"x": RNG.normal(size=(1, n, 8)).astype(np.float32)}
        wanted = Session(tmp_path / "static.edge").run_raw(feed)
        found = session.run_raw(feed)
        np.testing.assert_array_equal(found["out"], wanted["out"])
        mean = found["out"].astype(np.int32).mean(axis=1)
        assert np.abs(found["mean_out"] - mean).max() < 0.51
