"""The macros that the accelerator is compiled with."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from ...toolkit.errors import UserError

FOLDER = Path(__file__).parent
KERNELS = "edgekit.cl"
"""The program's file, as `kernels` has it."""
STAGES = ("links", "window", "mac", "finish")
"""The program's parts in their order, files of kernels/."""
SIZES = (2, 4, 8, 16, 32, 64)
"""What `vec` and `lanes` may be."""
HEADER = "edgekit_config.h"
EMULATED_DEPTH = 65536
"""Channel depth under emulation, where a shallow channel makes stages wait for each other."""


def kernels() -> str:
    """The OpenCL program: all parts as one source, since vendors' compilers take one file."""
    return "\n".join((FOLDER / "kernels" / f"{part}.cl").read_text() for part in STAGES)


@dataclass(frozen=True)
class Config:
    """Compile-time sizes of edgekit.cl.

    `vec` products of `lanes` channels are made in a cycle; `line_words` of max(vec, lanes) bytes
    hold input lines, `weight_words` of vec * lanes bytes a tile's weights, `pool_words` of `lanes`
    bytes the lines of a pooling layer; `taps` is the depthwise shift register; `depth` a channel's.
    """

    vec: int = 8
    lanes: int = 8
    line_words: int = 4096
    weight_words: int = 512
    pool_words: int = 2048
    taps: int = 16
    depth: int = 64

    def __post_init__(self) -> None:
        for name, value in (("vec", self.vec), ("lanes", self.lanes)):
            if value not in SIZES:
                raise UserError(f"{name} {value}: must be one of {', '.join(map(str, SIZES))}")
        for name, value in asdict(self).items():
            if value < 1:
                raise UserError(f"{name} {value}: must be positive")

    @property
    def word(self) -> int:
        """Bytes that stages pass on at a time."""
        return max(self.vec, self.lanes)

    @staticmethod
    def sized(vec: int = 8, lanes: int = 8) -> Config:
        """A configuration whose other sizes fit: bytes on chip stay about the same."""
        word = max(vec, lanes, 1)
        return Config(
            vec,
            lanes,
            line_words=max(512, 32768 // word),
            weight_words=max(64, min(512, 65536 // max(1, vec * lanes))),
            pool_words=max(512, 16384 // max(1, lanes)),
            taps=max(16, vec),
        )

    def buffers(self) -> dict[str, int]:
        """Bytes on chip."""
        link = 2 * self.word + self.vec * self.lanes + (12 + 4 + 2) * self.lanes
        return {
            "lines": self.line_words * self.word,
            "weights": self.weight_words * self.vec * self.lanes,
            "pool": self.pool_words * self.lanes,
            "links": self.depth * link,
        }

    def options(self, channels: bool) -> str:
        """The compiler's options for an emulator: the macros, and channels if it has them."""
        macros = {**self.macros(), "EK_DEPTH": EMULATED_DEPTH}
        words = [f"-D{name}={value}" for name, value in macros.items()]
        return " ".join([*words, "-DEK_CHANNELS"] if channels else words)

    def macros(self) -> dict[str, int]:
        return {f"EK_{name.upper()}": value for name, value in asdict(self).items()}

    def header(self) -> str:
        """The config header that edgekit.cl includes with -DEK_CONFIG."""
        lines = [f"#define {name} {value}\n" for name, value in self.macros().items()]
        return "/* What the accelerator is compiled with; edgekit.cl says what each means. */\n" + (
            "".join(lines) + "#define EK_CHANNELS\n"
        )


__all__ = ["EMULATED_DEPTH", "FOLDER", "HEADER", "KERNELS", "SIZES", "Config", "kernels"]
