"""Input shapes: the batch is 1, the rest is in the model or asked for in words to type."""

import numpy as np
import pytest
from onnx import helper

from edgekit.toolkit.errors import UserError
from edgekit.toolkit.onnx_import import load


@pytest.fixture
def image(make_model):
    node = helper.make_node("Relu", ["image"], ["y"])
    return lambda *shape: make_model([node], {"image": shape}, ["y"])


@pytest.fixture
def two(make_model):
    node = helper.make_node("Add", ["a", "b"], ["y"])
    return lambda a, b: make_model([node], {"a": a, "b": b}, ["y"])


def message(model, shapes=None):
    with pytest.raises(UserError) as why:
        load(model, shapes or {})
    return str(why.value)


@pytest.mark.parametrize("batch", ["batch", None, -1])
def test_a_symbolic_batch_becomes_1(image, batch):
    assert load(image(batch, 3, 8, 8)).inputs[0].shape == (1, 3, 8, 8)


@pytest.mark.parametrize(
    ("shape", "option"), [((0, 3), "x=0,3"), ((1, 0, 8, 8), "x=1,0,8,8"), ((1, 2, 0), "x=1,2,0")]
)
def test_an_axis_of_0_is_empty_and_not_unknown(image, shape, option):
    (text,) = load(image(*shape)).notes
    assert "'image' is of shape" in text and ",".join(map(str, shape)) in text
    assert "has no elements" in text and f"--shape image={option[2:]}" in text


def test_an_axis_of_0_that_was_meant_as_unknown_can_be_given(image):
    assert load(image(0, 3), {"image": (2, 3)}).inputs[0].shape == (2, 3)


def test_other_symbols_are_asked_for_with_the_option_to_type(image):
    text = message(image("N", 3, "height", "width"))
    assert "height, width" in text and "--shape image=1,3,H,W" in text
    text = message(image("N", "height", "width", 3))
    assert "height, width" in text and "--shape image=1,H,W,3" in text


def test_a_given_shape_is_taken(image):
    graph = load(image("N", 3, "h", "w"), {"image": (2, 3, 8, 9)})
    assert graph.outputs[0].shape == (2, 3, 8, 9)


def test_a_symbol_given_once_holds_for_all_inputs(two):
    graph = load(two(("n", "s"), ("n", "s")), {"a": (1, 7)})
    assert [p.shape for p in graph.inputs] == [(1, 7), (1, 7)]


def test_a_symbol_that_is_not_only_a_batch_is_asked_for(two):
    """A sequence of tokens first: nothing says that one token is meant."""
    text = message(two(("n", 4), (4, "n", 4)))
    assert "--shape a=D0,4" in text and "--shape b=4,D1,4" in text
    graph = load(two(("n", 4), (4, "n", 4)), {"a": (2, 4)})
    assert [p.shape for p in graph.inputs] == [(2, 4), (4, 2, 4)]


def test_a_batch_that_becomes_1_is_noted(two):
    graph = load(two(("n", 4), ("n", 4)))
    assert [p.shape for p in graph.inputs] == [(1, 4), (1, 4)]
    (note,) = graph.notes
    assert "'n' fixed to 1" in note and "--shape a=" in note
    assert not load(two(("n", 4), ("n", 4)), {"b": (1, 4)}).notes


def test_all_inputs_without_shape_are_named_at_once(two):
    text = message(two((1, "s"), (1, "t")))
    assert "--shape a=1,D1" in text and "--shape b=1,D1" in text


def test_an_unknown_name_gets_the_closest_one(image):
    assert "did you mean 'image'?" in message(image(1, 4), {"imag": (1, 4)})
    assert "inputs: image" in message(image(1, 4), {"zzz": (1, 4)})


def test_a_wrong_rank_is_refused(image):
    assert "4 dimensions" in message(image("N", 3, "h", "w"), {"image": (3, 8, 8)})


def test_a_fixed_dimension_cannot_be_changed(image):
    assert "fixes the shape to N,3" in message(image("N", 3), {"image": (1, 4)})


def test_dimensions_are_positive(image):
    assert "1 or more" in message(image("N", 3), {"image": (0, 3)})


@pytest.mark.parametrize(
    "arrays",
    [{"image": (20, 3, 8, 9)}, {"": (20, 3, 8, 9)}, {"image": (20, 1, 3, 8, 9), "label": (20,)}],
)
def test_what_is_open_comes_from_arrays_of_samples(image, arrays):
    graph = load(image("N", 3, "h", "w"), {}, arrays)
    assert graph.inputs[0].shape == (1, 3, 8, 9)
    assert any("has the shape of the samples: 1,3,8,9" in note for note in graph.notes)


def test_frames_come_from_arrays_of_sequences(image):
    """The first axis is no batch: each sample has 50 frames."""
    graph = load(image("frames", "bands"), {}, {"image": (20, 50, 24)})
    assert graph.inputs[0].shape == (50, 24) and "'frames' fixed to 50" in graph.notes[0]
    assert load(image("N", 24), {}, {"image": (20, 50, 24)}).inputs[0].shape == (1, 24)


def test_the_only_axis_of_a_vector_holds_its_features(make_model, image):
    """A network that was exported for one vector: "batch" is what its only axis is called."""
    vector = image("batch")
    assert load(vector, {}, {"image": (20, 14)}).inputs[0].shape == (14,)
    assert (
        load(vector, {}, {"image": (20,)}).inputs[0].shape == load(vector).inputs[0].shape == (1,)
    )
    product = helper.make_node("MatMul", ["image", "w"], ["y"])
    constants = {"w": np.ones((14, 3), np.float32)}
    model = make_model([product], {"image": ("batch",)}, ["y"], constants, infer=False)
    assert "give sizes other than --shape image=1" in message(model)


@pytest.mark.parametrize("first", ["a", "b"])
def test_stacked_samples_of_any_input_tell_the_size_of_a_shared_axis(two, first):
    shapes = {first: ("N", 4), "ab".replace(first, ""): ("N", "T")}
    arrays = dict.fromkeys("ab", (100, 3, 4))
    graph = load(two(shapes["a"], shapes["b"]), {}, arrays)
    assert [p.shape for p in graph.inputs] == [(3, 4), (3, 4)]


@pytest.mark.parametrize("arrays", [{}, {"x": (9, 3, 8, 8)}, {"image": (9, 8, 8, 3)}, {"": ()}])
def test_arrays_that_do_not_fit_say_nothing(image, arrays):
    with pytest.raises(UserError, match="--shape image=1,3,H,W"):
        load(image("N", 3, "h", "w"), {}, arrays)


def test_a_given_shape_goes_before_that_of_samples(image):
    graph = load(image("N", 3, "h", "w"), {"image": (1, 3, 4, 4)}, {"image": (20, 3, 8, 9)})
    assert graph.inputs[0].shape == (1, 3, 4, 4)
