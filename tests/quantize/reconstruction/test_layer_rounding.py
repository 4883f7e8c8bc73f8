from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from edgekit.calibration import FiledRows
from edgekit.toolkit import pipeline
from edgekit.toolkit.build import build_file, open_once
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.ir import Graph, Port
from edgekit.toolkit.numerics import INT8, INT16
from edgekit.toolkit.quantize import calibrate, optimize, quantize_model
from edgekit.toolkit.quantize.reconstruction.carried_errors import carried_part
from edgekit.toolkit.quantize.reconstruction.judged_by_halves import best_by_halves
from edgekit.toolkit.quantize.reconstruction.layer_executor import LayerExecutor
from edgekit.toolkit.quantize.reconstruction.layer_rounding import round_by_halves, round_weights
from edgekit.toolkit.quantize.reconstruction.observed_inputs import (
    FINE,
    FloatInputs,
    LayerInputs,
    observe_floats,
    observe_inputs,
    spread_evenly,
    unit_of,
    windows_of,
)
from edgekit.toolkit.quantize.reconstruction.second_moments import (
    KEEP,
    PARTS,
    held,
    moment_sums,
    second_moments,
    total,
)
from edgekit.toolkit.quantize.weights import gptq
from edgekit.toolkit.runtime import Session
from edgekit.toolkit.runtime.whole_sums import columns, sums


def samples(*shape, count=64, seed=5):
    rng = np.random.default_rng(seed)
    mix = np.linalg.qr(rng.normal(size=(shape[-1],) * 2))[0] * np.geomspace(2, 0.05, shape[-1])
    return [{"x": (rng.normal(size=shape) @ mix).astype(np.float32)} for _ in range(count)]


def problem(groups, rows, k, seed=0):
    """Wanted weights and the second moments of inputs that go together."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(groups, 4 * k, k)) @ rng.normal(size=(groups, k, k))
    h = x.swapaxes(1, 2) @ x / (4 * k) + 0.01 * np.eye(k)
    w = rng.normal(size=(groups, rows, k))
    return w, h, np.abs(w).max(axis=2, keepdims=True) / 7 * np.ones_like(w)


def loss(w, z, h, steps):
    d = z * steps - w
    return np.einsum("gnk,gkj,gnj->gn", d, h, d)


@pytest.mark.parametrize(("groups", "rows", "k"), [(1, 16, 40), (12, 1, 9), (3, 4, 18)])
def test_each_step_brings_the_outputs_closer_than_the_nearest_integers(groups, rows, k):
    w, h, steps = problem(groups, rows, k)
    b, nearest = w @ h, np.clip(np.rint(w / steps), -7, 7)
    z = gptq.nearest_plane(b, h, steps, 7)
    first = loss(w, z, h, steps)
    vh = gptq.descend(z, b, h, steps, 7)
    last = loss(w, z, h, steps)
    assert first.sum() < 0.7 * loss(w, nearest, h, steps).sum()
    assert np.all(last <= first + 1e-9) and np.allclose(vh, (z * steps) @ h)
    assert np.abs(z).max() <= 7 and np.array_equal(z, np.rint(z))
    scaled = steps * gptq.best_factor(z, b, vh, steps)[:, :, None]
    assert np.all(loss(w, z, h, scaled) <= last + 1e-9)


def test_the_nearest_plane_is_what_gptq_finds():
    """Against the algorithm of the paper, with the inverse of h, weights in the same order."""
    w, h, steps = problem(1, 8, 24)
    order = np.argsort(-np.diagonal(h[0]), kind="stable")
    inverse = np.linalg.inv(h[0][order][:, order])
    u = np.linalg.cholesky(inverse).T
    left, z = w[0][:, order].copy(), np.zeros((8, 24))
    for j in range(24):
        unit = steps[0, :, order[j]]
        z[:, j] = np.clip(np.rint(left[:, j] / unit), -7, 7)
        left[:, j:] -= np.outer((left[:, j] - z[:, j] * unit) / u[j, j], u[j, j:])
    found = gptq.nearest_plane(w @ h, h, steps, 7)[0]
    assert np.array_equal(found[:, order], z)


def test_coordinate_descent_ends_where_no_single_step_helps():
    w, h, steps = problem(2, 5, 12)
    b = w @ h
    z = gptq.nearest_plane(b, h, steps, 7)
    gptq.descend(z, b, h, steps, 7)
    best = loss(w, z, h, steps)
    for j in range(12):
        for by in (-1, 1):
            other = z.copy()
            other[:, :, j] = np.clip(other[:, :, j] + by, -7, 7)
            assert np.all(loss(w, other, h, steps) >= best - 1e-9)


def test_the_product_needs_no_blas():
    rng = np.random.default_rng(1)
    a, m = rng.normal(size=(3, 4, 6)), rng.normal(size=(3, 6, 6))
    assert np.allclose(gptq.product(a, m), a @ m)
    r = gptq.cholesky(m @ m.swapaxes(1, 2) + np.eye(6))
    assert np.allclose(r, np.triu(r)) and np.allclose(
        r.swapaxes(1, 2) @ r, m @ m.swapaxes(1, 2) + np.eye(6)
    )


@pytest.fixture
def net(g):
    x = g.input("x", 1, 8, 8, 8)
    a = g.conv(x, 16, name="a", act_min=0.0)
    b = g.conv(a, 16, groups=16, name="b", stride=(2, 2), act_min=0.0, act_max=6.0)
    c = g.conv(b, 24, groups=2, kernel=1, name="c", pads=(0, 0, 0, 0))
    geometry = {"kernel": (4, 4), "stride": (4, 4), "dilation": (1, 1), "out_hw": (1, 1)}
    pooled = g.emit("MaxPool2d", c, pads=(0, 0, 0, 0), **geometry)
    flat = g.emit("Reshape", pooled, shape=(1, 24))
    w = g.const(g.rng.normal(size=(16, 24)))
    return g.output(
        g.emit("FullyConnected", flat, w, None, name="y", act_min=-np.inf, act_max=np.inf)
    )


def test_columns_are_what_meets_the_weights(net):
    session, sample = Session(build_file(net)), samples(1, 8, 8, 8, count=1)[0]
    seen = {"x": sample["x"]}
    session.run_layers(sample, lambda _, name, array: seen.update({name: array.copy()}))
    for node in net.nodes:
        if node.op != "Conv2d":
            continue
        x, w = seen[node.input(0).name], node.input(1).const
        places = np.arange(node.output.type.size // len(w))
        (cols,) = columns(windows_of(node), x, 2.0**-16, places[None]) * 2.0**-16
        y = cols @ w.reshape(len(cols), -1, cols.shape[2]).swapaxes(1, 2)
        y = y.swapaxes(0, 1).reshape(len(places), -1) + node.input(2).const
        y = np.clip(y, node.attrs["act_min"], node.attrs["act_max"])
        assert np.allclose(y, seen[node.output.name].reshape(len(places), -1), atol=1e-4)


@pytest.mark.parametrize("wide", [False, True])
def test_moments_are_those_of_both_models(net, wide):
    calibration = calibrate(net, samples(1, 8, 8, 8))
    done = optimize(net, calibration, "minmax", rounding="nearest")
    plan = done.plan
    if wide:
        plan = plan.mixed(replace(done.options, wide=frozenset(done.ranges)))
    graph, _ = plan.emit(done.ranges)
    node = next(n for n in plan.graph.nodes if n.output.name == "c")
    feeds = [s.inputs for s in calibration.kept]
    source = next(n for n in graph.nodes if n.output.name == "c").input(0)
    assert source.dtype == (INT16 if wide else INT8)
    floats = observe_floats(node, plan.graph, LayerExecutor(feeds), False, unit_of(source))
    some = range(0, len(feeds), 2)
    run = LayerExecutor([feeds[i] for i in some])
    inputs = observe_inputs(node, floats, graph, run, some)
    assert all(v.read(0, 1).dtype == np.int16 for v in (inputs.q, floats.x))
    found = second_moments(total(moment_sums(inputs, PARTS)))
    seen = open_once(Graph(graph.nodes, graph.inputs, [Port("b", source, 1, source.shape)]))
    means = [seen.run(feeds[i])["b"].mean(axis=(0, 1, 2), dtype=np.float64) for i in some]
    exact = 1e-3 * source.quant.scalar
    assert np.allclose(found.q.ravel(), np.mean(means, axis=0), rtol=0, atol=exact)
    assert found.q.shape == (2, 8) and found.qq.shape == (2, 8, 8)
    for i in range(2):
        assert np.linalg.eigvalsh(found.qq[i]).min() > -1e-9
    assert np.allclose(found.qq, found.xq, atol=0.05 * found.qq.max())
    assert np.allclose(found.q, found.x, atol=0.05 * np.abs(found.x).max())


def off(error, count=24, places=16, k=12, seed=3):
    """What a node of k inputs sees that are `error` steps off in the quantized model."""
    rng = np.random.default_rng(seed)
    whole = [rng.integers(-60, 60, size=(1, places, k)).astype(np.float64) for _ in range(count)]
    return inputs_of([FINE * (v - error(rng, v)) for v in whole], whole)


def inputs_of(x, q):
    """What a node sees of these columns x and q, by sample."""
    x, q = np.stack(x), np.stack(q)
    rows, places = (FiledRows(len(q)) for _ in range(2)), np.zeros((len(q), q.shape[2]), np.int32)
    filed = [of for of, v in zip(rows, (x, q), strict=True) if of.write(0, v) is None]
    floats = FloatInputs(filed[0], sums(x), places, [], 1.0)
    return LayerInputs(floats, range(len(q)), filed[1], sums(q))


def noisy(rng, v):
    return rng.integers(-20, 21, size=v.shape)


@pytest.mark.parametrize("groups", [1, 2])
def test_moments_of_int16_columns_are_those_of_int32(groups):
    rng = np.random.default_rng(7)
    q = [rng.integers(-255, 256, size=(groups, 40, 9)).astype(np.int32) for _ in range(6)]
    x = [FINE * v + rng.integers(-9, 10, size=v.shape, dtype=np.int32) for v in q]
    few = [[v.astype(np.int16) for v in of] for of in (x, q)]
    sums = [list(moment_sums(inputs_of(*of), 3)) for of in ([x, q], few)]
    for one, other in zip(*sums, strict=True):
        assert np.array_equal(one.qq, other.qq) and np.array_equal(one.xq, other.xq)
        assert np.array_equal(one.x, other.x) and one.squares == other.squares


@pytest.mark.parametrize("spread", [0.3, 0.6, 1.0, 3.0])
def test_the_noise_of_coarse_units_leaves_moments_positive_definite(spread):
    rng = np.random.default_rng(8)
    wide = [rng.normal(scale=spread, size=(2, 40, 1)) + rng.normal(scale=0.05, size=(2, 40, 9))
            for _ in range(6)]  # fmt: skip
    q = [np.rint(v).astype(np.int32) for v in wide]
    seen = inputs_of([FINE * v for v in q], q)
    rest = np.stack([(a - b).sum(axis=1) for a, b in zip(wide, q, strict=True)])
    found = second_moments(total(moment_sums(replace(seen, rest=rest), 3)))
    damped = found.qq + held(np.diagonal(found.qq, axis1=1, axis2=2))[:, None, None] * np.eye(9)
    assert np.linalg.eigvalsh(damped).min() > 0
    power = np.mean([v.var(axis=1) for v in wide])
    assert spread < 1 or np.isclose(np.einsum("gii->", found.qq) / 18, power, rtol=0.1)


WEIGHTS = np.random.default_rng(4).normal(size=(1, 100, 12))


def carried(seen):
    return carried_part(WEIGHTS, moment_sums(seen, PARTS))[0]


def test_errors_are_made_up_for_as_far_as_other_samples_have_them_too():
    def gain(rng, v):
        return np.rint(0.3 * v)

    assert carried(off(gain)) > 0.95 and carried(off(gain, count=2)) > 0.9
    assert np.mean([carried(off(noisy, seed=seed)) for seed in range(16)]) < 0.3
    assert carried(off(gain, count=1)) == 0


@pytest.mark.parametrize(("seed", "count"), [(3, 11), (4, 24), (5, 5)])
def test_what_is_carried_is_tried_on_each_part_about_the_means_of_the_rest(seed, count):
    """Against the columns themselves: the moments of all parts but one, shrunk by what samples
    agree on, weigh an input that has a mean and partly systematic errors."""
    seen = off(lambda rng, v: np.rint(0.1 * v) + rng.integers(-9, 10, size=v.shape), count,
               seed=seed)  # fmt: skip
    xs, qs = (of.read(0, count).astype(int) for of in (seen.floats.x, seen.q))
    xs, qs = xs + 7 * FINE, qs + 5
    seen = inputs_of(xs, qs)
    sums, step = list(moment_sums(seen, PARTS)), min(PARTS, count)
    w, gain, power = WEIGHTS[0, ::2], 0.0, 0.0
    for part in range(step):
        rest, mine = (
            [np.concatenate([of[i][0] / unit for i in range(count) if (i % step == part) is own])
             for of, unit in ((xs, FINE), (qs, 1))]
            for own in (False, True)
        )  # fmt: skip
        x0, q0 = (v.mean(axis=0) for v in rest)
        others = [s for i, s in enumerate(sums) if i != part]
        certain = second_moments(total(others)).certain
        shrunk = certain + (1 - certain) * np.eye(12)
        (x, q), (x1, q1) = ((a - x0, b - q0) for a, b in (rest, mine))
        h = q.T @ q / len(q) * shrunk
        power_of = KEEP * np.trace(h) / 12
        h += (power_of + 1e-6 * np.trace(h) / 12) * np.eye(12)
        more = np.linalg.solve(h, (w @ ((x - q).T @ q / len(q) * shrunk)).T).T
        gain += float((w @ ((x1 - q1).T @ q1 / len(q1)) * more).sum())
        power += float((more @ (q1.T @ q1 / len(q1)) * more).sum())
    assert abs(carried(seen) - np.clip(gain / power, 0, 1)) <= 0.5 / 64 + 1e-6


@pytest.mark.parametrize("level", [3, 250, 30_000])
@pytest.mark.parametrize("count", [5, 24])
def test_a_sample_unlike_others_that_are_all_constant_is_left_out(level, count):
    """Moments about the means of the rest are all 0 then: no rounding makes them indefinite."""
    rng = np.random.default_rng(9)
    q = rng.integers(-level, level + 1, (1, 1, 1, 12)).repeat(count, 0).repeat(33, 2)
    q[count // 2] = rng.integers(-level, level + 1, (1, 33, 12))
    assert 0 <= carried(inputs_of((q + np.rint(0.3 * q)).astype(int) * FINE, q)) <= 1


def noise(net, graph, feeds):
    exact, rounded = Session(build_file(net)), Session(build_file(graph))
    return sum(float(((exact.run(s)["y"] - rounded.run(s)["y"]) ** 2).sum()) for s in feeds)


@pytest.mark.parametrize(
    ("weights", "most"),
    [("int4", 7), ("int4-group32", 7), ("int4-group16", 7), ("int2", 1), ("int2-group16", 1)],
)
def test_narrow_weights_gain_on_samples_never_seen(net, weights, most):
    calibration, fresh = calibrate(net, samples(1, 8, 8, 8)), samples(1, 8, 8, 8, count=128)[64:]
    done = [
        optimize(net, calibration, "minmax", weights=weights, rounding=r)
        for r in ("nearest", "gptq", "auto", "adaround")
    ]
    by = [noise(net, d.graph, fresh) for d in done]
    assert by[1] < 0.9 * by[0] and by[2] in by[:2] and by[3] < 0.9 * by[0]
    made = {n.output.name: n for n in done[1].graph.nodes}
    assert {name for name, n in made.items() if "storage" in n.attrs} == {"c", "y"}
    for name in ("c", "y"):
        node, w = made[name], made[name].input(1).const.reshape(len(made[name].input(1).const), -1)
        group, many = node.attrs["storage"].group, node.attrs["storage"].multipliers
        by_weight = 1 if many is None else np.repeat(many, group, 1)[:, : w.shape[1]]
        assert np.all(w % by_weight == 0) and np.abs(w // by_weight).max() <= most


def test_rounding_of_8_bits_does_no_harm(net):
    calibration, fresh = calibrate(net, samples(1, 8, 8, 8)), samples(1, 8, 8, 8, count=128)[64:]
    nearest, auto = (
        noise(net, optimize(net, calibration, "minmax", rounding=r).graph, fresh)
        for r in ("nearest", "auto")
    )
    assert auto < 1.1 * nearest


def test_rounding_that_harms_other_samples_is_not_taken(net, monkeypatch):
    def spoiled(*given):
        whole, halves = round_by_halves(*given)
        for one in halves:
            one.update({k: replace(r, z=np.minimum(r.z, 125) + 2) for k, r in one.items()})
        return whole, halves

    monkeypatch.setattr(sys.modules[best_by_halves.__module__], "round_by_halves", spoiled)
    calibration = calibrate(net, samples(1, 8, 8, 8))
    assert optimize(net, calibration, "minmax", rounding="gptq").options.rounded
    assert not optimize(net, calibration, "minmax", rounding="auto").options.rounded


@pytest.mark.parametrize("limit", [128, 32])
def test_halves_are_rounded_by_their_own_samples(net, monkeypatch, limit):
    """Of more samples than are looked at the whole is one half, which is not rounded again."""
    monkeypatch.setattr(sys.modules[spread_evenly.__module__], "SAMPLES", limit)
    calibration = calibrate(net, samples(1, 8, 8, 8))
    done = optimize(net, calibration, "minmax", rounding="auto")
    assert done.options.rounded and len(done.by_halves) == 2
    assert (done.options.rounded is done.by_halves[0]) == (limit == 32)
    feeds, plain = [s.inputs for s in calibration.kept], done.plan.with_rounded({})
    for half, found in zip((feeds[::2], feeds[1::2]), done.by_halves, strict=True):
        alone = round_weights(plain, done.ranges, half)
        for key, rounded in found.items():  # of some other places of each sample
            z, own = (r.z.astype(int) for r in (rounded, alone[key]))
            assert np.mean(z != own) < 0.3 and np.abs(z - own).max() <= 3


@pytest.mark.parametrize("rounding", ["auto", "gptq", "adaround"])
def test_4_bits_keep_the_digits(digits, tmp_path, rounding):
    done = pipeline.quantize(
        digits / "digits.onnx", digits / "calib.npz", tmp_path / "d.edge",
        weights="int4", rounding=rounding,
    )  # fmt: skip
    found = pipeline.check(done.output, digits / "digits.onnx", digits / "eval.npz", labels="label")
    top1 = found.top1.to_json()
    assert top1["edge"] > top1["float"] - 0.015


def test_unknown_names_are_refused(net):
    for name in ("weights", "rounding"):
        with pytest.raises(UserError, match=f"no {name} 'best'; there are: "):
            quantize_model(net, samples(1, 8, 8, 8), **{name: "best"})


def test_the_smallest_nodes_keep_8_bits_where_they_hold_10_percent_of_the_weights(g):
    x = g.conv(g.input("x", 1, 8, 8, 4), 4, name="first")
    for name, channels in (("small", 4), ("middle", 8), ("large", 32)):
        x = g.conv(x, channels, name=name, act_min=0.0)
    done = optimize(g.output(x), calibrate(g.graph, samples(1, 8, 8, 4)), "minmax", weights="int4")
    made = {n.output.name for n in done.graph.nodes if "storage" in n.attrs}
    assert made == {"middle", "large"}
