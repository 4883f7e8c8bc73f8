"""Single steps: each has its share of what was measured, and comes where its bytes bring most."""

from __future__ import annotations

import pytest

from edgekit.toolkit.progress import silent
from edgekit.toolkit.quantize.mixed_precision.precision_change import PrecisionChange
from edgekit.toolkit.quantize.mixed_precision.sensitivity import Gain, measure_gains, rank_by_worth


def step(name, to="int16"):
    return PrecisionChange(to, (name,), (("Conv2d", name),))


def steps(count, to="int16"):
    return [step(f"{to}{i}", to) for i in range(count)]


class Evaluator:
    """Noises that add up, as those of single steps do; counts what is measured."""

    def __init__(self, noise):
        self.noise, self.count = noise, 0

    def gain(self, change):
        self.count += 1
        noise = sum(self.noise.get(t, 0.0) for t in change.tensors)
        return Gain(noise, 10.0 * len(change.tensors), 100.0)


def test_few_moves_are_measured_one_by_one():
    changes = [*steps(6), *steps(3, "float32")]
    evaluator = Evaluator({m.tensors[0]: i / 8 for i, m in enumerate(changes)})
    found = measure_gains(changes, 9, evaluator.gain, silent)
    assert list(found) == changes and evaluator.count == 9
    assert [g.noise for g in found.values()] == [i / 8 for i in range(9)]


@pytest.mark.parametrize("most", [30, 40, 60])
def test_of_many_those_that_matter_are_found(most):
    changes = [*steps(64), *steps(32, "float32")]
    loud = {"int1640": 0.5, "float327": 0.25}
    evaluator = Evaluator(loud)
    found = measure_gains(changes, most, evaluator.gain, silent)
    assert evaluator.count <= most and set(found) == set(changes)
    assert {m.tensors[0]: g.noise for m, g in found.items() if g.noise} == loud


def test_what_is_not_told_apart_shares():
    changes = steps(8)
    found = measure_gains(
        changes, 2, Evaluator(dict.fromkeys((m.tensors[0] for m in changes), 1.0)).gain, silent
    )
    assert [g.noise for g in found.values()] == [1.0] * 8
    assert {(g.file, g.arena) for g in found.values()} == {(10.0, 100.0)}


def test_a_few_measurements_are_made_of_any_model():
    found = measure_gains(steps(5), 1, Evaluator({"int163": 1.0}).gain, silent)
    assert sum(g.noise for g in found.values()) == pytest.approx(1.0)
    assert measure_gains([], 5, Evaluator({}).gain, silent) == {}


def test_progress_is_told_to_the_end():
    said = []
    measure_gains(
        steps(30), 12, Evaluator({"int163": 1.0}).gain, lambda _, i, n: said.append((i, n))
    )
    assert [i for i, _ in said] == list(range(1, len(said) + 1)) and all(i <= n for i, n in said)


def test_the_order_is_by_bytes_and_kinds():
    a, b, c, f = step("a"), step("b"), step("c"), step("f", "float32")
    gains = {a: Gain(0.1, 100), b: Gain(0.1, 1000), c: Gain(-0.1), f: Gain(9.0, 1)}
    assert rank_by_worth(gains, (("int16",), ("float32",)), 1.0) == [a, b, f]
    assert rank_by_worth(gains, (("int16", "float32"),), 1.0) == [f, a, b]


def test_an_arena_is_paid_for_once():
    first, second = step("first"), step("second")
    small = [step(f"small{i}") for i in range(3)]
    gains = {first: Gain(0.5, 0, 10000), second: Gain(0.4, 0, 9000)}
    gains |= {m: Gain(0.002, 64) for m in small}
    assert rank_by_worth(gains, (("int16",),), 1.0) == [first, second, *small]


def test_memory_counts_as_much_as_is_said():
    deep, long = step("deep"), step("long")
    gains = {deep: Gain(0.1, 100, 10000), long: Gain(0.1, 5000, 0)}
    assert rank_by_worth(gains, (("int16",),), 1.0) == [long, deep]
    assert rank_by_worth(gains, (("int16",),), 1 / 16) == [deep, long]
