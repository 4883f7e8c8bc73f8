"""The walk: what is known is folded, what cannot be served is listed, ports stay as they were."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgekit.toolkit.build import build_file
from edgekit.toolkit.errors import UnsupportedError
from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.runtime import Session
from edgekit.toolkit.verify import verify

X = np.arange(24, dtype=np.float32).reshape(1, 4, 6) - 12
node = helper.make_node


def problems(model):
    with pytest.raises(UnsupportedError) as why:
        load(model)
    return why.value.problems


def test_shape_arithmetic_leaves_no_nodes(make_model, agree):
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "at"], ["rows"], axis=0),
        node("Concat", ["rows", "rest"], ["target"], axis=0),
        node("Reshape", ["x", "target"], ["y"]),
    ]
    constants = {"at": np.array([1]), "rest": np.array([-1])}
    model = make_model(nodes, {"x": X.shape}, ["y"], constants)
    assert [n.op for n in load(model).nodes] == ["Reshape"]
    agree(model, {"x": X})


@pytest.mark.parametrize(
    "given",
    [
        {"value": numpy_helper.from_array(np.linspace(-2, 3, 6, dtype=np.float32))},
        {"value": numpy_helper.from_array(np.arange(6) - 2)},
        {"value": numpy_helper.from_array(np.array(7, np.int16))},
        {"value_float": 0.1},
        {"value_floats": [1.5, -2.0, 0.1, 3.0, 4.0, 5.0]},
        {"value_int": -3},
        {"value_ints": [1, 2, 3, 4, 5, 6]},
    ],
)
def test_constants_are_what_their_attribute_says(make_model, agree, given):
    nodes = [
        node("Constant", [], ["c"], **given),
        node("Cast", ["c"], ["f"], to=TensorProto.FLOAT),
        node("Mul", ["x", "f"], ["y"]),
    ]
    agree(make_model(nodes, {"x": X.shape}, ["y"]), {"x": X})


def test_a_constant_too_large_to_fold_is_refused(make_model):
    nodes = [
        node("ConstantOfShape", ["dims"], ["big"]),
        node("ReduceSum", ["big"], ["s"], keepdims=0),
        node("Add", ["x", "s"], ["y"]),
    ]
    model = make_model(nodes, {"x": (4,)}, ["y"], {"dims": np.array([1 << 20, 1 << 20])})
    assert "1099511627776 elements" in problems(model)[0].why


def test_all_problems_are_listed_at_once(make_model):
    nodes = [
        node("Multinomial", ["m"], ["d"], name="det"),
        node("Relu", ["x"], ["r"]),
        node("MaxRoiPool", ["r", "r"], ["at"], name="where", pooled_shape=[1, 1]),
        node("Bernoulli", ["r"], ["coin"], name="coin"),
    ]
    model = make_model(nodes, {"x": (1, 4), "m": (2, 2)}, ["d", "at", "coin"])
    found = {p.node: p for p in problems(model)}
    assert set(found) == {"det", "where", "coin"}
    assert "not supported" in found["where"].why
    assert "random" in found["coin"].why


def test_problems_of_one_cause_are_one_line(make_model):
    nodes = [node("Bernoulli", ["x"], [f"d{i}"], name=f"n{i}") for i in range(5)]
    nodes += [node("MaxRoiPool", ["x", "x"], ["z"], name="other", pooled_shape=[1, 1])]
    model = make_model(nodes, {"x": (2, 2)}, [f"d{i}" for i in range(5)] + ["z"])
    with pytest.raises(UnsupportedError) as why:
        load(model)
    assert len(why.value.problems) == 6
    lines = str(why.value).splitlines()
    assert "6 problems" in lines[0] and len(lines) == 3
    assert lines[1].startswith("  - 5 Bernoulli ('n0', 'n1', 'n2', ...): random values are not")
    assert lines[2].startswith("  - MaxRoiPool 'other': ")


@pytest.mark.parametrize("op", ["Pad", "Relu"])
def test_what_onnx_takes_and_we_cannot_read_is_a_bug_of_ours(make_model, monkeypatch, op):
    """A node that onnx refuses is the user's; any other fault is not put on them."""
    from edgekit.toolkit.ops import FROM_ONNX

    def broken(*_):
        raise KeyError("ours")

    monkeypatch.setattr(FROM_ONNX["Relu"], "from_onnx", broken)
    pad = node("Pad", ["x", "short"], ["y"])
    nodes, constants = [node("Relu", ["x"], ["y"])], {}
    if op == "Pad":
        nodes, constants = [pad], {"short": np.array([1, 1])}
        assert "do not fit together" in problems(make_model(nodes, {"x": (1, 3)}, ["y"], constants,
                                                            infer=False))[0].why  # fmt: skip
    else:
        with pytest.raises(KeyError, match="ours"):
            load(make_model(nodes, {"x": (1, 3)}, ["y"], constants))


def test_where_sizes_do_not_fit_others_are_the_remedy(make_model):
    """Sound that is shorter than a window of the model's."""
    windows = node("Unsqueeze", ["x", "axes"], ["windows"])
    conv = node("Conv", ["windows", "w"], ["y"])
    constants = {"axes": np.array([1]), "w": np.ones((1, 1, 400), np.float32)}
    model = make_model([windows, conv], {"x": (1, "length")}, ["y"], constants, infer=False)
    load(model, {"x": (1, 400)})
    with pytest.raises(UnsupportedError, match=r"give sizes other than --shape x=1,64"):
        load(model, {"x": (1, 64)})


def test_a_refused_node_does_not_hide_or_double_later_problems(make_model):
    nodes = [
        node("Bernoulli", ["x"], ["d"], name="first"),
        node("Relu", ["d"], ["r"]),
        node("Bernoulli", ["x"], ["e"], name="second"),
        node("Add", ["r", "e"], ["y"]),
        node("Shape", ["y"], ["z"]),
    ]
    model = make_model(nodes, {"x": (2, 3, 3)}, ["y", "z"])
    assert [p.node for p in problems(model)] == ["first", "second"]


def test_unsupported_nodes_that_no_output_needs_do_not_matter(make_model):
    nodes = [node("Det", ["x"], ["unused"]), node("Abs", ["x"], ["y"])]
    model = make_model(nodes, {"x": (2, 2)}, ["y"])
    assert [n.op for n in load(model).nodes] == ["Abs"]


def test_operators_of_other_domains_are_named(make_model):
    nodes = [node("Magic", ["x"], ["y"], domain="com.acme", name="m")]
    model = make_model(nodes, {"x": (1, 2)}, ["y"], infer=False)
    model.graph.output[0].type.tensor_type.shape.dim.add().dim_value = 1
    model.opset_import.append(helper.make_opsetid("com.acme", 1))
    (problem,) = problems(model)
    assert problem.op == "com.acme.Magic" and "com.acme" in problem.why


def test_inputs_of_other_types_are_refused(make_model):
    model = make_model(
        [node("Identity", ["x"], ["y"])], {"x": (1,)}, ["y"], types={"x": TensorProto.STRING},
    )  # fmt: skip
    assert "string" in problems(model)[0].why


def branch(name, op):
    out = helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
    return helper.make_graph([node(op, ["x"], [name])], name, [], [out])


@pytest.mark.parametrize("condition, op", [(True, "Abs"), (False, "Neg")])
def test_an_if_with_a_known_condition_is_its_branch(make_model, agree, condition, op):
    nodes = [
        node("If", ["c"], ["i"], then_branch=branch("a", "Abs"), else_branch=branch("b", "Neg")),
        node("Sqrt", ["i"], ["y"]),
    ]
    model = make_model(nodes, {"x": (4,)}, ["y"], {"c": np.array(condition)})
    assert [n.op for n in load(model).nodes] == [op, "Sqrt"]
    agree(
        model,
        {"x": np.array([-1, -4, -9, -2], np.float32)} if not condition else {"x": X[0, 0, :4]},
    )


def test_recurrent_layers_with_computed_weights_and_a_clip_are_refused(make_model):
    nodes = [node("GRU", ["x", "w", "r"], ["y"], name="cell", hidden_size=2, clip=1.0)]
    constants = {"w": np.zeros((1, 6, X.shape[-1]), np.float32)}
    model = make_model(nodes, {"x": (5, 1, X.shape[-1]), "r": (1, 6, 2)}, ["y"], constants)
    (problem,) = problems(model)
    assert problem.node == "cell" and "constant" in problem.remedy


def test_initializers_that_are_also_inputs_are_constants(make_model):
    model = make_model(
        [node("Add", ["x", "c"], ["y"])], {"x": (2,), "c": (2,)}, ["y"],
        {"c": np.ones(2, np.float32)},
    )  # fmt: skip
    graph = load(model)
    assert [p.name for p in graph.inputs] == ["x"] and graph.nodes[0].input(1).const is not None


@pytest.mark.parametrize("opset", [16, 17])
def test_functions_are_inlined(make_model, agree, opset):
    """Of older opsets too, where what they read has no known type."""
    opsets = [helper.make_opsetid("", opset)]
    twice = helper.make_function(
        "own", "Twice", ["a"], ["b"], [node("Add", ["a", "a"], ["b"])], opsets
    )
    model = make_model(
        [node("Twice", ["x"], ["t"], domain="own"), node("Twice", ["t"], ["u"], domain="own"),
         node("Abs", ["u"], ["y"])],
        {"x": X.shape}, ["y"], infer=False,
    )  # fmt: skip
    model.opset_import.append(helper.make_opsetid("own", 1))
    model.functions.append(twice)
    model.graph.output[0].type.tensor_type.CopyFrom(model.graph.input[0].type.tensor_type)
    agree(model, {"x": X})


def test_defaults_of_function_attributes_hold(make_model):
    leak = node("LeakyRelu", ["a"], ["b"])
    leak.attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=1))
    function = helper.make_function(
        "own", "Leak", ["a"], ["b"], [leak], [helper.make_opsetid("", 17)],
        attribute_protos=[helper.make_attribute("slope", 0.5)],
    )  # fmt: skip
    nodes = [node("Leak", ["x"], ["t"], domain="own")]
    nodes += [node("Leak", ["t"], ["y"], domain="own", slope=0.25)]
    model = make_model(nodes, {"x": (4,)}, ["y"], infer=False)
    model.opset_import.append(helper.make_opsetid("own", 1))
    model.functions.append(function)
    assert [n.attrs["alpha"] for n in load(model).nodes] == [0.5, 0.25]


@pytest.mark.parametrize("attrs", [{}, {"axes": [1, 2]}])
def test_operators_that_onnx_defines_by_others_are_expanded_with_their_defaults(
    make_model, agree, attrs
):
    nodes = [node("MeanVarianceNormalization", ["x"], ["y"], **attrs)]
    x = np.random.default_rng(0).normal(size=(2, 3, 4, 5)).astype(np.float32)
    agree(make_model(nodes, {"x": x.shape}, ["y"]), {"x": x})


def test_an_output_may_be_an_input_a_constant_or_twice_the_same(make_model, agree):
    nodes = [
        node("Identity", ["x"], ["same"]),
        node("Identity", ["c"], ["fixed"]),
        node("Abs", ["x"], ["y"]),
        node("Identity", ["y"], ["again"]),
        node("Reshape", ["x", "flat"], ["line"]),
    ]
    constants = {"c": np.arange(3, dtype=np.float32), "flat": np.array([-1])}
    names = ["same", "fixed", "y", "again", "line"]
    model = make_model(nodes, {"x": X.shape}, names, constants)
    agree(model, {"x": X})


def test_ports_keep_onnx_types(make_model, agree):
    nodes = [
        node("Cast", ["i"], ["f"], to=TensorProto.FLOAT),
        node("Cast", ["b"], ["g"], to=TensorProto.FLOAT),
        node("Add", ["f", "g"], ["y"]),
        node("ArgMax", ["y"], ["at"], axis=1),
    ]
    model = make_model(
        nodes, {"i": (1, 3), "b": (1, 3)}, ["y", "at"],
        types={"i": TensorProto.INT64, "b": TensorProto.BOOL, "at": TensorProto.INT64},
    )  # fmt: skip
    agree(model, {"i": np.array([[5, -7, 1]]), "b": np.array([[True, False, True]])})
    codes = [p.onnx_dtype for p in (*load(model).inputs, *load(model).outputs)]
    assert codes == [TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT, TensorProto.INT64]


def test_a_model_in_double_runs_in_single(make_model):
    double = {n: TensorProto.DOUBLE for n in ("x", "y")}
    nodes = [node("Mul", ["x", "k"], ["y"])]
    model = make_model(nodes, {"x": (3,)}, ["y"], {"k": np.array([2.0])}, types=double)
    got = Session(build_file(load(model))).run({"x": np.array([1.0, 2.0, 3.0])})["y"]
    assert got.dtype == np.float64 and got.tolist() == [2.0, 4.0, 6.0]


def test_values_carry_the_names_of_onnx_tensors(make_model):
    nodes = [node("Conv", ["x", "w"], ["conv"]), node("Relu", ["conv"], ["relu"])]
    w = np.ones((2, 3, 1, 1), np.float32)
    graph = load(make_model(nodes, {"x": (1, 3, 4, 4)}, ["relu"], {"w": w}))
    names = {v.name for v in graph.values()}
    assert {"x", "conv", "relu"} <= names
    assert graph.outputs[0].value.name == "relu" and graph.outputs[0].shape == (1, 2, 4, 4)
    verify(graph, "import")


def test_sparse_initializers_are_refused(make_model):
    values = numpy_helper.from_array(np.ones(1, np.float32), "w")
    at = numpy_helper.from_array(np.zeros(1, np.int64), "w_at")
    model = make_model([node("Add", ["x", "w"], ["y"])], {"x": (4,)}, ["y"], infer=False)
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, at, [4]))
    model.graph.output[0].type.tensor_type.CopyFrom(model.graph.input[0].type.tensor_type)
    assert "sparse" in problems(model)[0].why


def test_types_that_numpy_lacks_are_refused_and_empty_outputs_are_given(make_model):
    model = make_model(
        [node("Shape", ["x"], ["y"], start=1, end=1)], {"x": (2, 2)}, ["y"],
        types={"x": TensorProto.COMPLEX64, "y": TensorProto.INT64},
    )  # fmt: skip
    found = problems(model)
    assert "complex64" in found[0].why
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.FLOAT
    assert [(p.name, p.shape) for p in load(model).empty_outputs] == [("y", (0,))]


NOTHING = {
    "a constant": ([], {"none": np.zeros((1, 0), np.float32)}),
    "a slice": ([node("Slice", ["x", "end", "end", "axis"], ["none"])], {}),
    "a part": ([node("Split", ["x", "sizes"], ["whole", "none"], axis=1)], {}),
    "computed": (
        [
            node("Slice", ["x", "end", "end", "axis"], ["slice"]),
            node("Mul", ["slice", "column"], ["none"]),
        ],
        {},
    ),
}


@pytest.mark.parametrize("what", NOTHING)
@pytest.mark.parametrize("reader", ["Concat", "ReduceSum"])
def test_tensors_without_elements_are_constants(make_model, agree, what, reader):
    nodes, constants = NOTHING[what]
    if reader == "Concat":
        nodes = [*nodes, node("Concat", ["none", "x", "none"], ["y"], axis=1)]
    else:
        nodes = [*nodes, node("ReduceSum", ["none", "axis"], ["s"]), node("Add", ["x", "s"], ["y"])]
    constants = {
        "end": np.array([3]), "axis": np.array([1]), "sizes": np.array([3, 0]),
        "column": np.ones((1, 1), np.float32), **constants,
    }  # fmt: skip
    x = np.array([[1.0, 2.0, 3.0]], np.float32)
    agree(make_model(nodes, {"x": (1, 3)}, ["y"], constants), {"x": x})


def test_bytes_paths_and_models_are_one(make_model, tmp_path):
    model = make_model([node("Abs", ["x"], ["y"])], {"x": (4,)}, ["y"])
    path = tmp_path / "m.onnx"
    onnx.save(model, path)
    texts = {str(load(source)) for source in (model, model.SerializeToString(), path, str(path))}
    assert len(texts) == 1


@pytest.mark.parametrize("op", ["Conv", "ConvTranspose"])
def test_a_convolution_of_integers_is_refused(make_model, op):
    constants = {"w": np.ones((2, 2, 3, 3), np.float32)}
    nodes = [node(op, ["x", "w"], ["y"])]
    types = {"x": TensorProto.INT8}
    model = make_model(nodes, {"x": (1, 2, 8, 8)}, ["y"], constants, types=types, infer=False)
    assert "int32" in problems(model)[0].why


def test_an_axis_given_twice_is_refused(make_model):
    constants = {"axes": np.array([0, 0])}
    nodes = [node("Unsqueeze", ["x", "axes"], ["y"])]
    model = make_model(nodes, {"x": (3,)}, ["y"], constants, infer=False)
    assert "name one axis twice" in problems(model)[0].why
