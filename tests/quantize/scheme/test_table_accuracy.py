"""Chains whose functions bend too sharply for a table of lines are not int16."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.quantize import Options, quantize_graph


def of_one_function(g, op):
    x = g.conv(g.input("x", 1, 4, 4, 2), 2, name="a")
    return g.output(g.conv(g.emit(op, x, name="y"), 2, name="b"))


def quantized(graph, a, y, *int16):
    ranges = {"x": (-1.0, 1.0), "a": a, "y": y, "b": (-9.0, 9.0)}
    return quantize_graph(graph, ranges, Options(wide=frozenset(int16)))


SMOOTH = {"Sigmoid": ((-8.0, 8.0), (0.0, 1.0)), "Abs": ((-3.0, 4.0), (0.0, 4.0)),
          "Exp": ((-2.0, 2.0), (0.1, 7.4)), "Log": ((1.0, 9.0), (0.0, 2.2))}  # fmt: skip
SHARP = {"Log": ((1e-4, 9.0), (-9.2, 2.2)), "Reciprocal": ((0.01, 5.0), (0.2, 100.0)),
         "Sqrt": ((0.0, 9.0), (0.0, 3.0)), "Floor": ((-3.0, 3.0), (-3.0, 3.0))}  # fmt: skip


@pytest.mark.parametrize("op", SMOOTH)
def test_lines_do_for_smooth_functions_and_for_one_bend(g, op):
    q, decisions = quantized(of_one_function(g, op), *SMOOTH[op], "a", "y")
    lut = next(n for n in q.nodes if n.op == "Lut")
    assert lut.output.dtype == np.int16 and not decisions


@pytest.mark.parametrize("op", SHARP)
def test_what_lines_miss_by_whole_int8_steps_stays_float(g, op):
    q, decisions = quantized(of_one_function(g, op), *SHARP[op], "a", "y")
    assert [n.op for n in q.nodes] == ["Conv2d", "Dequantize", op, "Quantize", "Conv2d"]
    (told,) = [d for d in decisions if d.node == "y"]
    assert told.what == "kept float" and "its int16 table is off by" in told.why


def test_inputs_that_were_never_seen_do_not_count(g):
    """The function of 0, which every quantization holds, may be infinite."""
    q, decisions = quantized(of_one_function(g, "Reciprocal"), (2.0, 5.0), (0.2, 0.5), "a", "y")
    assert "Lut" in {n.op for n in q.nodes} and not decisions


def test_the_same_table_on_int8_is_not_refused(g):
    q, decisions = quantized(of_one_function(g, "Log"), *SHARP["Log"])
    lut = next(n for n in q.nodes if n.op == "Lut")
    assert lut.output.dtype == np.int8 and not decisions
