"""What FPGA boards have, by their vendors' data sheets."""

from __future__ import annotations

from dataclasses import dataclass

from ...toolkit.errors import UserError
from .config import Config


@dataclass(frozen=True)
class Family:
    """What the accelerator takes of a vendor's blocks.

    A block of multipliers makes `products` of int8; a lane takes `lane_blocks` beside those, for
    the 64-bit products of requant and pool and those of Add. A memory block has `memory_bits`.
    """

    vendor: str
    multiplier: str
    memory: str
    products: int
    lane_blocks: int
    memory_bits: int

    def multipliers(self, c: Config) -> int:
        return -(-c.vec * c.lanes // self.products) + self.lane_blocks * c.lanes

    def memories(self, c: Config) -> int:
        return sum(-(-8 * size // self.memory_bits) for size in c.buffers().values())


# Two 18x19 multipliers a block; two blocks make a product of 64 bits.
INTEL = Family("Intel", "DSP", "M20K", 2, 6, 20480)
# One 27x18 multiplier a slice, four for a product of 64 bits. Two products of int8 that share an
# operand fit a slice (AMD WP486), which compilers do not do by themselves: one is counted.
AMD = Family("AMD", "DSP48E2", "BRAM36", 1, 10, 36864)


@dataclass(frozen=True)
class Board:
    """`bandwidth` is that of the memory beside the FPGA, bytes a second; `clock` in Hz is assumed:
    the data sheets promise none for a compiled design."""

    title: str
    family: Family
    multipliers: int
    memories: int
    bandwidth: float
    clock: float
    source: str

    @property
    def bytes_per_cycle(self) -> float:
        return self.bandwidth / self.clock


BOARDS = {
    "a10gx": Board(
        "Intel Arria 10 GX kit (10AX115)", INTEL, 1518, 2713, 17.1e9, 200e6,
        "Arria 10 Device Overview (A10-OVERVIEW), GX 1150; one 64-bit bank of DDR4-2133, as the "
        "kit's OpenCL reference platform has it (683267)",
    ),
    "s10": Board(
        "Intel Stratix 10 GX kit (1SG280)", INTEL, 5760, 11721, 17.1e9, 300e6,
        "Stratix 10 GX/SX Device Overview (683729), GX 2800; one 64-bit bank of DDR4-2133 assumed",
    ),
    "zcu104": Board(
        "AMD ZCU104 (XCZU7EV)", AMD, 1728, 312, 19.2e9, 200e6,
        "Zynq UltraScale+ MPSoC Data Sheet: Overview (DS891), ZU7EV; 64-bit DDR4-2400 of the "
        "processor (UG1267), which it shares; UltraRAM is not counted",
    ),
    "u250": Board(
        "AMD Alveo U250 (XCU250)", AMD, 12288, 2688, 77e9, 250e6,
        "Alveo U200 and U250 Data Sheet (DS962): four banks of DDR4-2400; UltraRAM is not counted",
    ),
}  # fmt: skip


def board_of(name: str) -> Board:
    """The board of that name. Raises UserError."""
    if name not in BOARDS:
        raise UserError(f"no board '{name}'; there are: {', '.join(BOARDS)}")
    return BOARDS[name]
