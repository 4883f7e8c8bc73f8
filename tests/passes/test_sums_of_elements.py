"""Votes that exporters count element by element."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from edgekit.toolkit.build import build_file
from edgekit.toolkit.passes.recognition.sums_of_elements import SumsOfElements
from edgekit.toolkit.runtime import Session


def element(net, x, i):
    return net.emit("Slice", [x], starts=(0, i), sizes=(1, 1), steps=(1, 1))


def votes(net, x, classes=4, bias=0.0):
    """One against one: of each pair the first gets the score, the second what is left of `bias`."""
    sums = [None] * classes
    for k, (i, j) in enumerate(combinations(range(classes), 2)):
        won = element(net, x, k)
        lost = net.emit("Neg", [element(net, x, k)])
        if bias:
            lost = net.emit("Add", [lost, net.constant(np.array(bias, np.float32))])
        for at, score in ((i, won), (j, lost)):
            sums[at] = score if sums[at] is None else net.emit("Add", [sums[at], score])
    return net.emit("Concat", sums, axis=1)


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_votes_are_one_sum(net, bias):
    net.output(votes(net, net.relu(net.input(1, 6)), bias=bias))
    kept = ["Clip", "Neg", "Concat", "Gather", "Reshape", "ReduceSum", "Reshape"]
    assert net.after(SumsOfElements()) == kept + (["Add"] if bias else [])


def test_differences_of_a_source_of_another_shape(net):
    x = net.relu(net.input(2, 3))
    flat = net.emit("Reshape", [x], shape=(1, 6))
    parts = [element(net, flat, i) for i in range(6)]
    parts = [net.emit("Sub", [parts[i], parts[(i + 1) % 6]]) for i in range(6)]
    net.output(net.emit("Concat", parts, axis=1))
    assert "ReduceSum" in net.after(SumsOfElements())


def test_what_others_read_as_well_is_not_summed_twice(net):
    x = net.relu(net.input(1, 6))
    parts = [net.emit("Neg", [element(net, x, i)]) for i in range(6)]
    sums = [net.emit("Add", [parts[i], parts[i - 1]]) for i in range(6)]
    net.output(net.emit("Concat", sums, axis=1), *parts, *sums)
    assert "ReduceSum" not in net.after(SumsOfElements())


@pytest.mark.parametrize("uneven", ["counts", "sources", "clamps"])
def test_other_sums_stay(net, uneven):
    x, y = net.relu(net.input(1, 6)), net.relu(net.input(1, 6, name="y"))
    sums = []
    for i in range(5):
        other = element(net, y if uneven == "sources" and i == 3 else x, i + 1)
        sums.append(net.emit("Add", [element(net, x, i), net.emit("Neg", [other])]))
    if uneven == "counts":
        sums[2] = net.emit("Add", [sums[2], element(net, x, 0)])
    if uneven == "clamps":
        sums[2] = net.emit("Clip", [sums[2]], min=0.0, max=1.0)
    net.output(net.emit("Concat", sums, axis=1))
    assert "ReduceSum" not in net.after(SumsOfElements())


def test_what_is_not_a_number_stays_where_it_is(net):
    graph = net.output(votes(net, net.input(1, 6)))
    assert SumsOfElements().run(graph)
    x = np.array([[1, 2, 3, np.nan, np.inf, 4]], np.float32)
    (got,) = Session(build_file(graph)).run({"x": x}).values()
    np.testing.assert_array_equal(got, [[6, np.nan, np.nan, -np.inf]])
