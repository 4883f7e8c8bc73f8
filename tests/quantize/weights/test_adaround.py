from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.quantize.weights import adaround, gptq
from edgekit.toolkit.quantize.weights.adaround import Problem
from edgekit.toolkit.runtime import cores


def problem(groups=1, rows=12, k=24, columns=900, low=0.0, high=1e9, limit=7, seed=0):
    """Integers that meet weights, and the float weights' outputs behind a clamp, mostly cut off."""
    rng = np.random.default_rng(seed)
    mix = rng.normal(size=(groups, k, k)) * np.geomspace(1, 0.1, k)[:, None]
    q = np.rint(20 * (mix.swapaxes(1, 2) @ rng.normal(size=(groups, k, columns))))
    wanted = rng.uniform(-limit, limit, (groups, rows, k))
    ends = tuple(np.full((groups, rows), v) for v in (low, high))
    bias = -np.abs(wanted @ q).mean(axis=2)
    return Problem.of(
        q,
        np.clip(wanted @ q + bias[:, :, None], low, high),
        ends,
        wanted,
        np.ones_like(wanted),
        np.full((groups, k), 1e-3 * (q * q).mean()),
        0.95,
        limit,
    ), bias


def closed_form(p, bias):
    """Integers and biases by GPTQ and coordinate descent, and the reals."""
    q = p.q.swapaxes(1, 2).reshape(len(p.q), p.q.shape[2], -1)
    h = p.share * q @ q.swapaxes(1, 2) / p.count + p.held[:, 0, :, None] * np.eye(q.shape[1])
    b, steps = p.wanted @ h, np.ones_like(p.wanted)
    z = gptq.nearest_plane(b, h, steps, p.limit)
    gptq.descend(z, b, h, steps, p.limit)
    return z, bias, gptq.unrounded(b, h)


def loss(p, z, bias):
    return p.loss(z, p.outputs(z, bias))


def test_the_loss_is_that_behind_the_clamp():
    p, bias = problem(columns=10, rows=2, k=3)
    z = np.rint(p.wanted)
    q = p.q[0].swapaxes(0, 1).reshape(3, -1)[:, : int(p.count)]
    target = p.target[0].swapaxes(0, 1).reshape(2, -1)[:, : int(p.count)]
    error = (np.maximum(z[0] @ q + bias[0][:, None], 0) - target) ** 2
    held = (p.held[0] * (z[0] - p.wanted[0]) ** 2).sum(axis=1)
    assert np.allclose(loss(p, z, bias)[0], 0.95 * error.mean(axis=1) + held)


@pytest.mark.parametrize(("groups", "rows", "k"), [(1, 12, 24), (8, 1, 9), (2, 5, 12)])
def test_behind_a_relu_it_beats_the_nearest_and_the_closed_form(groups, rows, k):
    p, bias = problem(groups, rows, k)
    z, bias, aim = closed_form(p, bias)
    nearest = np.rint(p.wanted)
    found = adaround.solve(p, z, bias, aim)
    after, before = loss(p, *found), loss(p, z, bias)
    assert np.all(after <= before) and np.all(np.abs(found[0]) <= p.limit)
    assert np.array_equal(found[0], np.rint(found[0]))
    assert after.sum() < 0.95 * before.sum() < 0.95 * loss(p, nearest, bias).sum()


def test_gradient_descent_alone_beats_the_nearest():
    p, bias = problem()
    z, bias, aim = closed_form(p, bias)
    learned = adaround.gradient_descent(p, z, bias, aim)
    centred = adaround._centred(p, p.outputs(learned[0], 0 * bias), learned[1])
    assert loss(p, learned[0], centred).sum() < 0.8 * loss(p, np.rint(p.wanted), bias).sum()


def test_whole_steps_end_where_none_helps_a_row():
    p, bias = problem(rows=3, k=6)
    z, bias, _ = adaround.descend(p, np.rint(p.wanted), bias)
    best = loss(p, z, bias)
    better = 0
    for j in range(6):
        for by in (-1, 1):
            other = z.copy()
            other[:, :, j] += by
            better += int((loss(p, other, bias) < 0.98 * best).sum())
    assert better == 0


def test_rows_do_not_depend_on_what_is_solved_beside_them(monkeypatch):
    p, bias = problem(rows=20, k=30)
    z, bias, aim = closed_form(p, bias)
    whole = adaround.solve(p, z, bias, aim)
    monkeypatch.setattr(cores, "cores", lambda: 1)
    again = adaround.solve(p, z, bias, aim)
    assert all(np.array_equal(a, b) for a, b in zip(whole, again, strict=True))
    at = (slice(0, 1), slice(4, 9))
    alone = adaround.solve(p.part(*at), z[at], bias[at], aim[at])
    assert all(np.array_equal(a[at], b) for a, b in zip(whole, alone, strict=True))


def test_products_are_exact():
    """So no order of summation can change them."""
    p, bias = problem(groups=2, rows=4, k=50, columns=3000, limit=127)
    fine, unit = p.fixed_points()
    z = np.rint(p.wanted * fine)
    r = np.rint(p.residual(p.outputs(np.rint(p.wanted), bias)) * unit)
    exact = z[:, None].astype(int) @ p.q.astype(int)
    assert np.array_equal(np.matmul(z[:, None], p.q), exact) and np.abs(exact).max() < 2**53
    back = (r.astype(int) @ p.q.swapaxes(2, 3).astype(int)).sum(axis=1)
    assert np.array_equal(adaround._against(r, p.q), back)


def test_the_sigmoid_needs_no_exponential_of_the_cpu():
    v = np.linspace(-12, 12, 97)
    assert np.allclose(adaround._sigmoid(v), 1 / (1 + np.exp(-v)), rtol=1e-9)
    s = np.linspace(0.05, 0.95, 19)
    assert np.allclose(adaround._sigmoid(adaround._logit(s)), s, rtol=1e-12)


def test_unrounded_weights_have_the_least_error():
    rng = np.random.default_rng(3)
    m, b = rng.normal(size=(2, 8, 8)), rng.normal(size=(2, 3, 8))
    h = m @ m.swapaxes(1, 2) + np.eye(8)
    assert np.allclose(gptq.unrounded(b, h) @ h, b)
