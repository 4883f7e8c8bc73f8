"""What a configuration costs and how fast it is, by a model: docs/deploy-fpga.md says which.

No vendor compiler was at hand: cycles are those of the loops, one iteration a cycle; blocks are
counted from the sizes. Memory bandwidth and the clock are the board's.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ...toolkit.format.describe import macs
from ...toolkit.format.model import EdgeModel
from .boards import INTEL
from .config import Config
from .loops import loops_of

FILL_CYCLES = 200
"""From a layer's first word read to its first byte written, beside what the loops count."""


@dataclass(frozen=True)
class Resources:
    """Of an Intel Arria 10: a DSP block has two 18x19 multipliers, an M20K 20,480 bits."""

    macs_per_cycle: int
    dsp_blocks: int
    memory_bits: int
    m20k_blocks: int


@dataclass(frozen=True)
class LayerCycles:
    """An operator; cycles 0 and the reason where it runs on the host. `bound`: slowest stage."""

    name: str
    operator: str
    cycles: int
    bound: str
    macs: int
    macs_per_cycle: float
    host: str


@dataclass(frozen=True)
class Estimate:
    """One inference. `cycles` are the accelerator's; host operators and transfers come on top."""

    config: dict[str, int]
    resources: Resources
    cycles: int
    macs: int
    macs_per_cycle: float
    layers: list[LayerCycles]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def resources(c: Config) -> Resources:
    """DSP blocks: int8 products two a block; per lane two blocks for each of the 64-bit products of
    requant and pool, and two for the products of Add."""
    bits = [size * 8 for size in c.buffers().values()]
    return Resources(
        macs_per_cycle=c.vec * c.lanes,
        dsp_blocks=INTEL.multipliers(c),
        memory_bits=sum(bits),
        m20k_blocks=INTEL.memories(c),
    )


def estimate(model: EdgeModel, config: Config) -> Estimate:
    """Cycles of each operator of `model` on `config`."""
    rows = []
    for name, op, stages in zip(model.op_names, model.ops, loops_of(model, config), strict=True):
        if isinstance(stages, str):
            rows.append(LayerCycles(name, op.kind.name, 0, "", 0, 0.0, stages))
            continue
        # With channels all stages run at once, and the slowest sets the pace.
        bound = max(stages, key=lambda s: stages[s])
        cycles, products = stages[bound] + FILL_CYCLES, macs(op.kind, op.params)
        rate = round(products / cycles, 2)
        rows.append(LayerCycles(name, op.kind.name, cycles, bound, products, rate, ""))
    cycles, total = sum(r.cycles for r in rows), sum(r.macs for r in rows)
    rate = round(total / max(1, cycles), 2)
    return Estimate(asdict(config), resources(config), cycles, total, rate, rows)


__all__ = ["Estimate", "Resources", "estimate", "resources"]
