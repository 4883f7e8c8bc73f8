"""An operator as the accelerator runs it, asked of host/layer.c and host/loops.c: does it fit, and
how often the loops of its stages turn."""

from __future__ import annotations

from ...runtime_c._ffi import ffi, lib
from ...toolkit.format.model import EdgeModel
from ...toolkit.format.writer import write
from ...toolkit.runtime import Model
from .accelerator import require_host
from .config import Config

STAGES = ("read", "window", "weights", "mac", "requant", "pool", "write")


def loops_of(model: EdgeModel, config: Config) -> list[dict[str, int] | str]:
    """For each operator the turns of each stage's innermost loop, all tiles together; or in words
    why the accelerator cannot run it. Raises UserError for a build without the accelerator's C."""
    require_host()
    opened = Model(write(model))
    sizes = ffi.new("ek_opencl_config *")
    for name in ("vec", "lanes", "line_words", "weight_words", "pool_words", "taps"):
        setattr(sizes, name, getattr(config, name))
    loops, why = ffi.new("ek_opencl_loops *"), ffi.new("ek_opencl_error *")
    found: list[dict[str, int] | str] = []
    for i in range(len(model.ops)):
        status = lib.ek_opencl_loops_of(loops, opened.handle, i, sizes, why)
        if status == lib.EK_OK:
            found.append({stage: int(getattr(loops, stage)) for stage in STAGES})
        elif status == lib.EK_ERR_UNSUPPORTED:
            found.append(ffi.string(why.text).decode())
        else:
            raise RuntimeError(f"operator {i}: {ffi.string(why.text).decode()} ({status})")
    return found


__all__ = ["STAGES", "loops_of"]
