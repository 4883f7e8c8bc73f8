"""Attention multiplies by transposed keys: no Transpose is left of that."""

import pytest

from edgekit.toolkit.passes.movement.layout import Layout
from edgekit.toolkit.passes.movement.merge_transposes import MergeTransposes
from edgekit.toolkit.passes.movement.transposed_product import TransposedProduct


def multiply(net, k):
    """queries @ k"""
    q = net.input(*k.shape[:-2], 5, k.shape[-2])
    net.output(net.emit("MatMul", [q, k], transpose_b=False))


@pytest.mark.parametrize(
    "perm, left",
    [
        ((0, 1, 3, 2), []),
        ((0, 2, 3, 1), [(0, 2, 1, 3)]),  # heads of [batch, time, heads, size]
        ((0, 2, 1, 3), [(0, 2, 1, 3)]),  # its rows lie together already
    ],
)
def test_keys_are_read_as_they_lie(net, perm, left):
    multiply(net, net.transpose(net.input(2, 3, 4, 6), perm))
    net.after(TransposedProduct())
    (product,) = [n for n in net.graph.nodes if n.op == "MatMul"]
    assert product.attrs["transpose_b"] == (perm != (0, 2, 1, 3))
    assert [n.attrs["perm"] for n in net.graph.nodes if n.op == "Transpose"] == left


def test_a_matrix_with_other_readers_is_transposed_once(net):
    k = net.transpose(net.input(2, 3, 4, 6), (0, 2, 3, 1))
    net.output(net.emit("Abs", [k]))
    multiply(net, k)
    assert net.after(TransposedProduct()).count("Transpose") == 1


def test_scaled_keys_are_read_as_they_lie(net):
    multiply(
        net, net.emit("Mul", [net.transpose(net.input(2, 3, 4, 6), (0, 1, 3, 2)), net.random(1)])
    )
    assert "Transpose" not in net.after(MergeTransposes(), Layout(), TransposedProduct())
