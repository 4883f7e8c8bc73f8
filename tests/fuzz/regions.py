"""Branches and loops for the corpus."""

from file_maker import OpRecord

from edgekit.toolkit.format.model import ABSENT
from edgekit.toolkit.format.schema import DType, OpKind, RegionFn
from edgekit.toolkit.ops._opdef import Lowered

LINE = 12


def copy(f, x, y, backwards=False):
    """x, int8[12], as y."""
    p = {f"dims.{i}": LINE if i == 5 else 1 for i in range(6)}
    p |= {f"strides.{i}": (-1 if backwards else 1) if i == 5 else 0 for i in range(6)}
    p |= {"offset": LINE - 1 if backwards else 0, "element_bytes": 1}
    f.ops.append(OpRecord(OpKind.Copy, f"op{len(f.ops)}", (x,), (y,), p))


def border(f, fn, inputs, outputs, begun=None, most=0, strict=0):
    """A border, and its place; `begun` is that of the one before it."""
    at = len(f.ops)
    back = 0 if begun is None else at - begun
    if begun is not None:
        f.ops[begun].params["length"] = back
    p = {"fn": fn, "length": 0, "back": back, "most": most, "strict": strict}
    params = dict(Lowered(OpKind.Region, p, []).params)
    f.ops.append(OpRecord(OpKind.Region, f"op{at}", tuple(inputs), tuple(outputs), params))
    return at


def loop(f, x, trips, go, strict=0):
    """x turned around at each step, and how many steps there were."""
    held, turned = (f.tensor(DType.Int8, LINE) for _ in range(2))
    done = f.tensor(DType.Int32, 1)
    copy(f, x, held)
    operands = [trips, go, held]
    begun = border(f, RegionFn.Loop, operands, [done], most=7, strict=strict)
    copy(f, held, turned, backwards=True)
    copy(f, turned, held)
    border(f, RegionFn.EndLoop, operands, [done], begun, most=7, strict=strict)
    return held, done


def regions(f, form):
    """A loop that counts, one in a branch that goes on by a condition, one in a loop."""
    x, trips, go = f.input(DType.Int8, LINE), f.input(DType.Int32, 1), f.input(DType.UInt8, 1)
    for made in loop(f, x, trips, ABSENT):
        f.output(made)
    chosen = f.tensor(DType.Int8, LINE)
    first = border(f, RegionFn.If, [go], [chosen])
    copy(f, x, chosen, backwards=True)
    other = border(f, RegionFn.Else, [], [chosen], first)
    held, _ = loop(f, x, trips, go, strict=1)
    copy(f, held, chosen)
    border(f, RegionFn.EndIf, [], [chosen], other)
    f.output(chosen)
    held, done = (f.tensor(DType.Int8, LINE), f.tensor(DType.Int32, 1))
    copy(f, x, held)
    begun = border(f, RegionFn.Loop, [ABSENT, ABSENT, held], [done], most=3)
    inner, _ = loop(f, held, trips, ABSENT)
    copy(f, inner, held)
    border(f, RegionFn.EndLoop, [ABSENT, ABSENT, held], [done], begun, most=3)
    f.output(held)
