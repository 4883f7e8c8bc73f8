"""Samples of many sizes: one integer file, whose bytes at each size are a static file's."""

import numpy as np
import onnx
import onnxruntime
import pytest

from edgekit.calibration import InputSpec, open_samples
from edgekit.toolkit import pipeline
from edgekit.toolkit.dynamic import Range, Sizes
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.evaluation.sized_samples import SizedSamples
from edgekit.toolkit.execution import run
from edgekit.toolkit.format.reader import read_file
from edgekit.toolkit.format.varying import Symbol
from edgekit.toolkit.quantize.quality import GOOD_DB
from edgekit.toolkit.runtime import Session, kernel_tables

SEQUENCE = """
<ir_version: 8, opset_import: ["" : 17]>
sequence (int64[1,seq] ids) => (float[1,16] out) {
  shape = Shape (ids)
  length = Gather <axis: int = 0> (shape, one_index)
  end = Unsqueeze (length, zero)
  place = Slice (places, zero, end, zero)
  word = Gather (words, ids)
  x = Add (word, place)
  q = MatMul (x, wq)
  t = Transpose <perm: ints = [0,2,1]> (q)
  scores = MatMul (x, t)
  p = Softmax <axis: int = -1> (scores)
  y = MatMul (p, q)
  z = Add (y, x)
  mean = ReduceMean <axes: ints = [1], keepdims: int = 0> (z)
  out = MatMul (mean, wo)
}
"""

IMAGE = """
<ir_version: 8, opset_import: ["" : 17]>
image (float[1,3,h,w] x) => (float[1,4,h2,w2] out) {
  a = Conv <pads: ints = [1,1,1,1], strides: ints = [2,2]> (x, first)
  r = Relu (a)
  g = GlobalAveragePool (r)
  e = Conv (g, squeeze)
  s = Sigmoid (e)
  m = Mul (r, s)
  out = Conv <pads: ints = [1,1,1,1]> (m, last)
}
"""


def saved(folder, text, **constants):
    model = onnx.parser.parse_model(text)
    model.graph.initializer.extend(onnx.numpy_helper.from_array(a, n) for n, a in constants.items())
    path = folder / f"{model.graph.name}.onnx"
    onnx.save(model, path)
    return path


def reals(rng, *shape):
    return rng.normal(0, 0.4, shape).astype(np.float32)


@pytest.fixture(scope="module")
def sequence(tmp_path_factory):
    rng, ints = np.random.default_rng(1), lambda *v: np.array(v, np.int64)
    return saved(
        tmp_path_factory.mktemp("sequence"), SEQUENCE, one_index=np.array(1, np.int64),
        zero=ints(0), places=reals(rng, 40, 16) * np.arange(40, dtype=np.float32)[:, None] / 40,
        words=reals(rng, 30, 16), wq=reals(rng, 16, 16), wo=reals(rng, 16, 16),
    )  # fmt: skip


def sentences(count, seed=2):
    rng = np.random.default_rng(seed)
    return [{"ids": rng.integers(0, 30, (1, n))} for n in rng.integers(2, 24, count)]


def sqnr(model, edge, samples, varying=False):
    """In dB; of what is `varying` over the samples if that is the signal."""
    oracle, session = onnxruntime.InferenceSession(model), Session(edge)
    (name,) = (o.name for o in oracle.get_outputs())
    pairs = [(oracle.run(None, s)[0], session.run(s)[name]) for s in samples]
    noise = sum(float(np.square(a - b).sum()) for a, b in pairs)
    mean = np.mean([a for a, _ in pairs], axis=0) if varying else 0
    return 10 * np.log10(sum(float(np.square(a - mean).sum()) for a, _ in pairs) / noise)


@pytest.fixture(scope="module")
def quantized(sequence, tmp_path_factory):
    edge = tmp_path_factory.mktemp("quantized") / "sequence.edge"
    done = pipeline.quantize(
        sequence, sentences(200), edge, dims={"seq": Range(1, 32)}, effort="fast",
        report=edge.with_suffix(".html"), targets=["cortex_m4"],
    )  # fmt: skip
    return edge, done


def test_a_sequence_of_any_length_in_integers(sequence, quantized):
    edge, done = quantized
    file = read_file(edge)
    assert [str(s) for s in file.symbols] == ["seq=1..32"]
    assert set(done.ops["MatMul"]) == set(done.ops["Reduce"]) == {"int8"}
    (note,) = (n for n in done.notes if n.startswith("quantized at seq="))
    assert done.samples == 200
    assert note.endswith("larger ones truncated to it; ranges from all samples at their own sizes")
    page = edge.with_suffix(".html").read_text()
    assert note in page and done.quality.level == "good"
    (need,) = done.targets
    assert need.targets == ["cortex_m4"] and need.session_bytes > need.arena_bytes > 0
    assert sqnr(sequence, edge, sentences(40, seed=3)) > GOOD_DB


@pytest.mark.parametrize("kernels", kernel_tables())
def test_every_length_runs(quantized, kernels):
    session, plain = Session(quantized[0], kernels), Session(quantized[0], "ref")
    for n in range(1, 33):
        feed = {"ids": np.arange(n)[None] % 30}
        np.testing.assert_array_equal(
            session.run_raw(feed)["out"], plain.run_raw(feed)["out"], err_msg=str(n)
        )


def test_a_mean_is_that_of_the_numpy_meaning(quantized):
    """At each length the multiplier is the floor of that of one element over the length."""
    (mean,) = (op for op in read_file(quantized[0]).ops if op.kind.name == "Reduce")
    expression = mean.params["multiplier"].expression
    one = expression.value((1,))
    assert [expression.value((n,)) for n in (1, 2, 7, 32)] == [one, one // 2, one // 7, one // 32]


def test_check_and_run_take_samples_of_their_own_lengths(sequence, quantized, tmp_path):
    edge, samples = quantized[0], sentences(20, seed=4)
    report = pipeline.check(edge, sequence, samples)
    assert report.samples == 20
    assert report.outputs[0].sqnr_db == pytest.approx(sqnr(sequence, edge, samples), abs=1e-3)
    (note,) = (n for n in report.notes if n.startswith("verdict at seq="))
    size = int(note.removeprefix("verdict at seq=").split(",")[0])
    cut = [{"ids": x["ids"][:, :size]} for x in samples if x["ids"].shape[1] >= size]
    assert report.quality.samples == len(cut) >= 10
    wanted = sqnr(sequence, edge, cut, varying=True)
    assert report.quality.sqnr_db["out"] == pytest.approx(wanted, abs=0.01)
    assert "evaluated on" in note and note.endswith("larger ones truncated to it")
    assert report.to_json()["level"] == report.quality.level == "good"
    for i, sample in enumerate(samples[:3]):
        np.savez(tmp_path / f"{i}.npz", **sample)
        done = run(edge, [str(tmp_path / f"{i}.npz")], tmp_path / "out.npz")
        assert done.samples == 1
        wanted = Session(edge).run(sample)["out"]
        np.testing.assert_array_equal(np.load(tmp_path / "out.npz")["out"], wanted)
    with pytest.raises(UserError, match="--layers and --metric require fixed dimensions"):
        pipeline.check(edge, sequence, samples, layers=True)


def test_an_image_of_any_size_in_integers(tmp_path):
    rng = np.random.default_rng(6)
    saved(
        tmp_path, IMAGE, first=reals(rng, 8, 3, 3, 3), squeeze=reals(rng, 8, 8, 1, 1) * 3,
        last=reals(rng, 4, 8, 3, 3),
    )  # fmt: skip

    def pictures(count, sizes=(16, 24, 32)):
        chosen = rng.choice(sizes, (count, 2))
        return [{"x": rng.normal(0.3, 1, (1, 3, h, w)).astype(np.float32)} for h, w in chosen]

    for i, sample in enumerate(pictures(40)):
        np.save(tmp_path / f"{i:02}.npy", sample["x"])
    (tmp_path / "image.onnx").rename(tmp_path / "image.model")
    edge = tmp_path / "image.edge"
    done = pipeline.quantize(
        tmp_path / "image.model", tmp_path, edge,
        shapes={"x": (1, 3, Range(8, 48, 8), Range(8, 48, 8))}, effort="fast",
    )  # fmt: skip
    assert all(set(types) == {"int8"} for types in done.ops.values())
    assert "Reduce" in done.ops
    assert sqnr(tmp_path / "image.model", edge, pictures(20)) > 30
    assert sqnr(tmp_path / "image.model", edge, pictures(10, (8, 40, 48))) > 25


def test_what_does_not_go_with_ranges(sequence, tmp_path):
    ranges = {"seq": Range(1, 32)}
    for options, said in (
        ({"stream": [("ids", 1)]}, "--stream"),
        ({"labels": "y"}, "--labels and --metric"),
    ):
        with pytest.raises(UserError, match=f"cannot be combined with {said}"):
            pipeline.quantize(sequence, sentences(4), tmp_path / "x.edge", dims=ranges, **options)
    with pytest.raises(UserError, match="pass a list, not a generator"):
        pipeline.quantize(sequence, iter(sentences(4)), tmp_path / "x.edge", dims=ranges)
    with pytest.raises(Exception, match=r"wrong shape \(1, 40\); expected \(1, 1\.\.32\)"):
        pipeline.quantize(
            sequence, [{"ids": np.zeros((1, 40), np.int64)}], tmp_path / "x.edge", dims=ranges
        )


def test_larger_samples_are_cut_to_the_size_that_judges():
    def sized(*shapes):
        axes = {("x", 2): 0, ("x", 3): 1}
        known = Sizes((Symbol("h", 1, 64), Symbol("w", 1, 64)), {}, {}, axes)
        feeds = [{"x": np.full((1, 2, *s), i, np.float32)} for i, s in enumerate(shapes)]
        given = open_samples(
            feeds,
            [
                InputSpec(
                    "x",
                    (1, 2, 64, 64),
                    np.dtype(np.float32),
                    sizes=known.ranges_of("x", (1, 2, 64, 64)),
                )
            ],
        )
        return SizedSamples(given, known)  # fmt: skip

    samples = sized((8, 8), (20, 16), (16, 24), (16, 16), (12, 40), (16, 16))
    assert samples.size == (16, 16)
    assert [int(feed["x"].flat[0]) for feed in samples] == [3, 5, 1, 2, 0, 4]
    cut = [samples.cut(feed) for feed in samples]
    assert [c and c["x"].shape for c in cut] == [(1, 2, 16, 16)] * 4 + [None] * 2
    assert samples.note() == (
        "quantized at h=16, w=16, evaluated on 2 samples of that size and 2 larger ones truncated "
        "to it; ranges from all samples at their own sizes"
    )
    assert sized((8, 8), (9, 9), (40, 40)).size == (9, 9)
    assert sized((8, 40), (40, 8), (20, 20)).size == (20, 20)


def test_samples_with_an_input_of_one_size_are_not_cut():
    axes = {("x", 1): 0}
    known = Sizes((Symbol("n", 1, 8),), {}, {}, axes)
    feeds = [
        {"x": np.zeros((1, n), np.float32), "length": np.full((1,), n, np.int64)}
        for n in (2, 2, 6)
    ]  # fmt: skip
    specs = [
        InputSpec("x", (1, 8), np.dtype(np.float32), sizes=known.ranges_of("x", (1, 8))),
        InputSpec("length", (1,), np.dtype(np.int64)),
    ]
    samples = SizedSamples(open_samples(feeds, specs), known)
    assert samples.size == (2,) and samples.cut(feeds[2]) is None
    assert samples.note().endswith("evaluated on 2 samples of that size; ranges from the other 1")
