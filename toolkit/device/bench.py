"""What a model costs on a target, by its emulator: instructions by operator, RAM and flash."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import UserError
from ..files import read_edge
from ..format.at_sizes import at_sizes, chosen_sizes
from ..format.describe import bytes_moved, macs, op_type
from ..format.model import NUMPY_OF, EdgeModel
from ..format.schema import DType
from ..ir import Array
from ..numerics import INTEGERS
from .build import load_target
from .emulate import Device, Emulation

_SEED = 20


@dataclass(frozen=True)
class OpCost:
    """One operator."""

    name: str
    operator: str
    instructions: int
    macs: int
    bytes_moved: int


@dataclass(frozen=True)
class Cost:
    """All that `edgekit bench --json` prints. Bytes; `stack_bytes` is 0 where not measured."""

    target: str
    cpu: str | None
    instructions_per_inference: int
    macs: int
    instructions_per_mac: float
    arena_bytes: int
    session_bytes: int
    stack_bytes: int
    flash: dict[str, int]
    ops: list[OpCost]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def bench(
    model: str | Path,
    target_name: str,
    cpu: str | None = None,
    kernels: str = "",
    sizes: Mapping[str, int] | None = None,
) -> Cost:
    """Run one inference on random inputs of a fixed seed and count; of a model whose dimensions
    vary, at `sizes` by name, those not named the largest. Raises UserError."""
    target = load_target(target_name)
    if not target.emulator:
        raise UserError(
            f"{target_name} is the host and has no emulator to count instructions on; `edgekit "
            "targets` lists targets with one"
        )
    with Device(read_edge(model), target, cpu, kernels) as device:
        now = at_sizes(device.model, chosen_sizes(device.model, sizes, str(model)))
        return cost(device, device.run([random_inputs(now)], count=True), now)


def cost(device: Device, ran: Emulation, found: EdgeModel | None = None) -> Cost:
    """What `ran`, which counted, says of the model in `device`; `found`: at the sizes that it ran
    at."""
    assert ran.instructions is not None and ran.op_instructions is not None
    found, size = found or device.model, device.archive.size
    total = found.memory.macs
    return Cost(
        target=device.target.name,
        cpu=device.cpu,
        instructions_per_inference=ran.instructions,
        macs=total,
        instructions_per_mac=round(ran.instructions / max(1, total), 4),
        arena_bytes=found.memory.arena_bytes,
        session_bytes=ran.session_bytes,
        stack_bytes=ran.stack_bytes,
        flash={
            "text": size.text,
            "rodata": size.rodata,
            "library": size.library,
            "model": device.model_bytes,
        },
        ops=[
            OpCost(name, op_type(found, op), n, macs(op.kind, op.params), moved)
            for name, op, n, moved in zip(
                found.op_names, found.ops, ran.op_instructions, bytes_moved(found), strict=True
            )
        ],
    )


def random_inputs(model: EdgeModel) -> list[Array]:
    """Inputs as the device holds them, the same ones at every call."""
    rng = np.random.default_rng(_SEED)
    arrays: list[Array] = []
    for port in model.inputs:
        t = model.tensors[port.tensor]
        if t.dtype == DType.Float32:
            arrays.append(rng.uniform(-1, 1, t.shape).astype(np.float32))
        elif NUMPY_OF[t.dtype] in INTEGERS:
            limits = np.iinfo(NUMPY_OF[t.dtype])
            arrays.append(rng.integers(limits.min, limits.max + 1, t.shape, limits.dtype))
        else:
            arrays.append(np.zeros(t.shape, NUMPY_OF[t.dtype]))
    return arrays
