from __future__ import annotations

import numpy as np

from edgekit.toolkit.quantize.scheme.lookup_chains import find_chains

X = np.linspace(-5, 5, 101)


def only(chain):
    """The function of all channels."""
    (function,) = chain.functions
    assert chain.index is None
    return function


def test_unary_operators_and_constant_scalars_are_one_function(g):
    x = g.input("x", 1, 8)
    y = g.emit("Sigmoid", g.emit("Mul", g.emit("Tanh", x), g.const(3.0)))
    (chain,) = find_chains(g.output(y))
    assert (chain.root, chain.end, len(chain.nodes)) == (x, y, 3)
    assert np.allclose(only(chain)(X), 1 / (1 + np.exp(-3 * np.tanh(X))), atol=1e-12)


def test_two_functions_of_one_tensor_are_one_function(g):
    x = g.input("x", 1, 8)
    y = g.emit("Mul", x, g.emit("HardSigmoid", x, alpha=1 / 6, beta=0.5))
    z = g.emit("Add", y, g.emit("Clip", x, min=0.0, max=np.inf))
    (chain,) = find_chains(g.output(z))
    want = X * np.clip(X / 6 + 0.5, 0, 1) + np.maximum(X, 0)
    assert np.allclose(only(chain)(X), want, atol=1e-7)


def test_a_tensor_read_outside_ends_a_chain_of_its_own(g):
    x = g.input("x", 1, 8)
    a = g.emit("Tanh", x)
    b = g.emit("Sigmoid", a)
    chains = find_chains(g.output(a, b))
    assert [(c.root, c.end, len(c.nodes)) for c in chains] == [(x, a, 1), (x, b, 2)]


def test_two_tensors_do_not_make_a_chain(g):
    x, y = g.input("x", 1, 8), g.input("y", 1, 8)
    z = g.emit("Add", g.emit("Tanh", x), g.emit("Tanh", y))
    ends = {c.end.name for c in find_chains(g.output(g.emit("Sigmoid", z)))}
    assert ends == {"tanh0", "tanh1", "sigmoid3"}


def test_a_constant_per_element_or_a_growing_shape_is_not_a_scalar(g):
    x = g.input("x", 1, 8)
    y = g.emit("Mul", x, g.const(np.arange(8)))
    z = g.emit("Add", y, g.const(np.ones((1, 1, 1))))
    assert find_chains(g.output(z)) == []


def test_a_fused_clamp_is_part_of_the_function(g):
    x = g.input("x", 1, 8)
    y = g.emit("Add", x, g.const(1.0), act_min=0.0, act_max=6.0)
    (chain,) = find_chains(g.output(y))
    assert np.array_equal(only(chain)(X), np.clip(X + 1, 0, 6))


def test_powers_of_two_by_channel_make_classes_of_channels(g):
    x = g.input("x", 1, 2, 4)
    before = g.emit("Mul", x, g.const([0.5, 1, 0.5, 1]))
    y = g.emit("Mul", g.emit("Tanh", before), g.const([1, 8, 1, 2]))
    (chain,) = find_chains(g.output(y))
    assert (chain.root, chain.end) == (x, y)
    for channel, (a, b) in enumerate([(0.5, 1), (1, 8), (0.5, 1), (1, 2)]):
        assert np.allclose(chain.functions[chain.index[channel]](X), b * np.tanh(a * X), atol=1e-12)
    assert len(chain.functions) == 3


def test_factors_that_are_all_alike_are_one_function(g):
    x = g.input("x", 1, 4)
    y = g.emit("Tanh", g.emit("Mul", x, g.const(np.full(4, 0.25))))
    assert np.allclose(only(find_chains(g.output(y))[0])(X), np.tanh(X / 4), atol=1e-12)


def test_factors_over_another_axis_or_of_other_sizes_are_none(g):
    x = g.input("x", 1, 4, 4)
    for c in (np.array([[1.0], [2.0], [1.0], [2.0]]), np.array([1.0, 3.0, 1.0, 1.0]),
              np.array([1.0, -2.0, 1.0, 1.0])):  # fmt: skip
        assert find_chains(g.output(g.emit("Mul", x, g.const(c)))) == []


def test_there_are_no_more_classes_than_tables(g):
    x = g.input("x", 1, 600)
    low, high = np.arange(600) % 25, np.arange(600) // 25
    y = g.emit("Tanh", g.emit("Mul", x, g.const(np.exp2(low))))
    z = g.emit("Mul", y, g.const(np.exp2(high)))
    (chain,) = find_chains(g.output(z))
    assert chain.end is y and len(chain.functions) == 25


def chosen(g, x, y):
    """Where(x > 1, x, y), and its condition."""
    condition = g.emit("Less", g.const(1.0), x)
    return g.emit("Where", condition, x, y), condition


def test_what_a_condition_on_the_same_tensor_chooses_is_one_function(g):
    x = g.input("x", 1, 8)
    y, _ = chosen(g, x, g.emit("Tanh", x))
    (chain,) = find_chains(g.output(g.emit("Neg", y)))
    assert (chain.root, len(chain.nodes)) == (x, 4)
    assert np.allclose(only(chain)(X), -np.where(X > 1, X, np.tanh(X)), atol=1e-12)


def test_a_condition_read_outside_is_not_part_of_a_function(g):
    x, z = g.input("x", 1, 8), g.input("z", 1, 8)
    y, condition = chosen(g, x, g.emit("Tanh", x))
    chains = find_chains(g.output(y, g.emit("Where", condition, z, x)))
    assert [len(c.nodes) for c in chains] == [1]


def test_a_condition_on_another_tensor_does_not_make_a_chain(g):
    x, z = g.input("x", 1, 8), g.input("z", 1, 8)
    y = g.emit("Where", g.emit("Less", g.const(1.0), z), x, g.emit("Tanh", x))
    assert [c.nodes[0].op for c in find_chains(g.output(y))] == ["Tanh"]
