"""Masks of minus infinity in front of a softmax, against the graph with them."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.passes.quantized.finite_masks import FiniteMasks

T = 5
CAUSAL = np.triu(np.ones((T, T), np.uint8), 1)


def largest(net) -> float:
    consts = [v.const for v in net.graph.values() if v.const is not None]
    return max(float(np.abs(c).max()) for c in consts if c.dtype == np.float32)


@pytest.mark.parametrize("much", [-np.inf, -3.4e38])
@pytest.mark.parametrize("first", [False, True])
def test_a_constant_is_raised_through_sums_and_shapes(net, much, first):
    mask = net.constant(np.where(CAUSAL, much, 0).astype(np.float32))
    x = net.input(1, 2, T, T)
    total = net.emit("Add", [mask, x] if first else [x, mask])
    total = net.emit("Add", [net.reshape(total, (2, T, T)), net.random(2, T, T)])
    net.output(net.emit("Softmax", [total], axis=2))
    assert net.after(FiniteMasks()) == ["Add", "Reshape", "Add", "Softmax"]
    assert largest(net) <= 1e4


@pytest.mark.parametrize("much", [-np.inf, -1e9, -1e4])
@pytest.mark.parametrize("hidden", [False, True])
def test_chosen_scores_become_a_sum(net, much, hidden):
    x, keep = net.input(1, 2, T, T), net.input(1, 1, 1, T, name="keep")
    condition = net.emit("Less", [keep, net.constant(np.float32([0.5]))])
    c = net.constant(np.full(1, much, np.float32))
    chosen = net.emit("Where", [condition, c, x] if hidden else [condition, x, c])
    net.output(net.emit("Softmax", [chosen], axis=3))
    assert net.after(FiniteMasks()) == ["Less", "Where", "Add", "Softmax"]
    assert largest(net) <= 1e4


def test_what_a_pad_adds_is_raised(net):
    """Elements beyond both ends that a softmax over those beside the largest must not take."""
    padded = net.emit("Pad", [net.input(1, T, T)], before=(0, 0, 1), after=(0, 0, 1),
                      mode="constant", value=-np.inf)  # fmt: skip
    some = net.emit("Gather", [padded, net.constant(np.int32([0, 1, 2]))], axis=2)
    net.output(net.emit("Softmax", [some], axis=2))
    assert net.after(FiniteMasks()) == ["Pad", "Gather", "Softmax"]
    assert net.graph.nodes[0].attrs["value"] == -1e4


def test_a_computed_mask_is_raised_once(net):
    x, keep = net.input(1, T, T), net.input(1, T, T, name="keep")
    condition = net.emit("Less", [keep, net.constant(np.float32([0.5]))])
    none, least = (net.constant(np.full(1, v, np.float32)) for v in (0, -np.inf))
    mask = net.emit("Where", [condition, none, least])
    for scores in (x, net.emit("Mul", [x, x])):
        net.output(net.emit("Softmax", [net.emit("Add", [scores, mask])], axis=2))
    assert net.after(FiniteMasks()).count("Where") == 1
    assert largest(net) <= 1e4


def test_what_others_read_stays(net):
    x, keep = net.input(1, T, T), net.input(1, T, T, name="keep")
    condition = net.emit("Less", [keep, net.constant(np.float32([0.5]))])
    chosen = net.emit("Where", [condition, x, net.constant(np.full(1, -1e9, np.float32))])
    net.output(net.emit("Softmax", [chosen], axis=2), net.emit("Mul", [chosen, chosen]))
    assert net.after(FiniteMasks()).count("Where") == 1
    assert largest(net) == 1e9


def test_a_choice_that_a_softmax_and_argmax_compare_becomes_a_sum(net):
    chosen = where(net, net.input(1, T, T), np.full(1, -np.inf, np.float32))
    padded = net.emit(
        "Pad", [chosen], before=(0, 0, 1), after=(0, 0, 0), mode="constant", value=-np.inf
    )
    net.output(net.emit("ArgMax", [chosen], axis=2, keepdims=False, select_last_index=False),
               net.emit("Softmax", [padded], axis=2))  # fmt: skip
    assert net.after(FiniteMasks()) == ["Less", "Where", "Add", "Pad", "ArgMax", "Softmax"]
    assert largest(net) == 1e4


def test_a_choice_that_argmin_compares_stays(net):
    chosen = where(net, net.input(1, T, T), np.full(1, -np.inf, np.float32))
    least = net.emit("ArgMin", [chosen], axis=2, keepdims=False, select_last_index=False)
    net.output(least, net.emit("Softmax", [chosen], axis=2))
    assert net.after(FiniteMasks()) == ["Less", "Where", "ArgMin", "Softmax"]


def where(net, x, c, shape=(1, T, T)):
    keep = net.input(*shape, name="keep")
    condition = net.emit("Less", [keep, net.constant(np.float32([0.5]))])
    return net.emit("Where", [condition, x, net.constant(c)])


def test_an_output_in_front_of_a_softmax_stays(net):
    mask = net.constant(np.where(CAUSAL, -1e9, 0).astype(np.float32))
    total = net.emit("Add", [net.input(1, T, T), mask])
    net.output(total, net.emit("Softmax", [total], axis=2))
    assert net.after(FiniteMasks()) == ["Add", "Softmax"]
    assert largest(net) == 1e9


def test_a_choice_that_masks_only_here_and_there_stays(net):
    c = np.where(CAUSAL, -np.inf, 0.5).astype(np.float32)
    net.output(net.emit("Softmax", [where(net, net.input(1, T, T), c)], axis=2))
    assert net.after(FiniteMasks()) == ["Less", "Where", "Softmax"]


def test_what_scores_may_be_is_no_mask(net):
    low = net.emit("Add", [net.input(1, T, T), net.constant(np.float32([-100]))])
    net.output(net.emit("Softmax", [where(net, low, np.full(1, -100, np.float32))], axis=2))
    assert net.after(FiniteMasks()) == ["Add", "Less", "Where", "Softmax"]


def test_a_mask_that_gives_the_shape_stays(net):
    c = np.full((3, T, T), -1e9, np.float32)
    net.output(net.emit("Softmax", [where(net, net.input(1, T, T), c)], axis=2))
    assert net.after(FiniteMasks()) == ["Less", "Where", "Softmax"]


@pytest.mark.parametrize("much", [-100.0, -999.0])
def test_a_score_that_is_low_but_possible_is_no_mask(net, much):
    """exp of what is 100 below the others is nothing, but they may all be as low."""
    x, keep = net.input(1, T, T), net.input(1, T, T, name="keep")
    condition = net.emit("Less", [keep, net.constant(np.float32([0.5]))])
    chosen = net.emit("Where", [condition, x, net.constant(np.full(1, much, np.float32))])
    net.output(net.emit("Softmax", [chosen], axis=2))
    assert net.after(FiniteMasks()) == ["Less", "Where", "Softmax"]
