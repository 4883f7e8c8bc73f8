"""Many samples, or one without its batch axis: what onnxruntime gives for a model of that batch."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from edgekit import Session, UserError
from edgekit.toolkit.build import build_file
from edgekit.toolkit.onnx_import import load

RNG = np.random.default_rng(5)
X = RNG.random((6, 2, 3), dtype=np.float32)
B = RNG.random((6, 3), dtype=np.float32)


def model(batch):
    """a [batch, 2, 3] * b [batch, 3] along the rows, and the mean of each sample of a."""
    float32 = TensorProto.FLOAT
    graph = helper.make_graph(
        [
            helper.make_node("Reshape", ["b", "shape"], ["r"]),
            helper.make_node("Mul", ["a", "r"], ["product"]),
            helper.make_node("ReduceMean", ["a"], ["mean"], axes=[1, 2], keepdims=0),
        ],
        "g",
        [
            helper.make_tensor_value_info("a", float32, [batch, 2, 3]),
            helper.make_tensor_value_info("b", float32, [batch, 3]),
        ],
        [
            helper.make_tensor_value_info("product", float32, [batch, 2, 3]),
            helper.make_tensor_value_info("mean", float32, [batch]),
        ],
        [helper.make_tensor("shape", TensorProto.INT64, [3], [batch, 1, 3])],
    )
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=8)


def wanted(a, b):
    names = ("product", "mean")
    session = onnxruntime.InferenceSession(model(len(a)).SerializeToString())
    return dict(zip(names, session.run(names, {"a": a, "b": b}), strict=True))


def session(batch=1):
    return Session(build_file(load(model(batch))))


@pytest.mark.parametrize("batch", [1, 2, 3])
@pytest.mark.parametrize("run", ["run", "run_raw"])
def test_many_samples_give_the_outputs_of_a_model_of_that_batch(batch, run):
    got = getattr(session(batch), run)({"a": X, "b": B})
    for name, want in wanted(X, B).items():
        assert got[name].shape == want.shape and got[name].dtype == want.dtype
        np.testing.assert_allclose(got[name], want, rtol=1e-6)


def test_a_sample_without_its_batch_axis_is_a_batch_of_one():
    one, want = session(), wanted(X[:1], B[:1])
    feed = {"a": X[0], "b": B[0]}
    layers = []
    for got in (one.run(feed), one.run({"a": X[:1], "b": B[0]}),
                one.run_layers(feed, lambda i, name, y: layers.append(y.size))):  # fmt: skip
        for name in want:
            assert got[name].shape == want[name].shape
            np.testing.assert_allclose(got[name], want[name], rtol=1e-6)
    assert [a.shape for a in one.to_raw(feed)] == [(1, 2, 3), (1, 3)]
    assert len(one.profile(feed)) == len(layers) == len(one.op_outputs)


def test_whole_inputs_along_an_axis_of_their_own_keep_it():
    got = session(2).run({"a": X.reshape(3, 2, 2, 3), "b": B.reshape(3, 2, 3)})
    want = wanted(X, B)["product"].reshape(3, 2, 2, 3)
    np.testing.assert_allclose(got["product"], want, rtol=1e-6)


def test_an_only_input_may_be_the_array_alone():
    relu = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])],
    )
    made = helper.make_model(relu, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(made)
    only = Session(build_file(load(made)))
    x = np.linspace(-2, 1, 12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_array_equal(only.run(x)["y"], np.maximum(x, 0))
    np.testing.assert_array_equal(only.run(x[0])["y"], np.maximum(x[:1], 0))


@pytest.mark.parametrize(
    ("feed", "says"),
    [
        (X, "ndarray for a model of 2 inputs; give a dict of an array per input: a, b"),
        ({"a": X, "b": B[:4]}, "different numbers of samples: {'a': 6, 'b': 4}"),
        ({"a": X[:0], "b": B[:0]}, "no sample"),
        ({"a": X[0, 0], "b": B[0]}, r"'a': shape \[3\]; give \[1, 2, 3\] for one sample"),
        ({"a": np.float32(1), "b": B[0]}, r"'a': shape \[\]; give \[1, 2, 3\] for one sample"),
    ],
)
def test_what_fits_no_input_is_refused(feed, says):
    with pytest.raises(UserError, match=says):
        session().run(feed)


def test_layers_are_of_one_run():
    one = session()
    for use in (one.profile, one.to_raw, lambda feed: one.run_layers(feed, print)):
        with pytest.raises(UserError, match="the inputs contain 6 runs; pass the samples of one"):
            use({"a": X, "b": B})
