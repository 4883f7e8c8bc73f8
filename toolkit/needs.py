"""What a file takes on the targets that it can be built for, as `build` prepares it there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from .. import targets
from ..targets import Target
from .device.build import load_target, parts_of
from .device.footprint import Footprint, footprint, planned
from .errors import UserError
from .format.reader import read
from .format.strip import stripped
from .format.writer import write
from .progress import Progress
from .quantize import Budget, Mixed
from .quantize import Quantized as QuantizedModel
from .quantize.mixed_precision.evaluator import Measure, generic_sizes

_ROUNDS = 5
"""Searches, at most, until what one assumed of code and stack is what its file takes."""


@dataclass(frozen=True)
class Need:
    """Bytes of a model on `targets`, which prepare it alike.

    `session_bytes` is the arena, state and the session itself; None where kernels pack the weights
    when a session is made, and the device says how much that takes (ek_session_size). `within` is
    whether the model and its memory are in the budget. `code_bytes` and `stack_bytes` are known
    where they were measured; `uncounted` says why not, where they should have been.
    """

    targets: list[str]
    model_bytes: int
    arena_bytes: int
    session_bytes: int | None
    within: bool
    code_bytes: int | None = None
    stack_bytes: int | None = None
    uncounted: tuple[str, ...] = ()


def needs(data: bytes, budget: Budget) -> list[Need]:
    """What the generic file `data` takes on the targets that execute it, by their plans."""
    by_plan: dict[str, list[Target]] = {}
    for target in map(targets.load, targets.names()):
        if target.emulator:  # others are this machine
            by_plan.setdefault(target.plan, []).append(target)
    data = write(stripped(read(data)))
    found = [
        _need(planned(data, alike[0]), [t.name for t in alike], budget)
        for alike in by_plan.values()
    ]
    return sorted(found, key=lambda need: need.targets)


def _need(found: Footprint, names: list[str], budget: Budget) -> Need:
    return Need(
        names,
        found.model_bytes,
        found.arena_bytes,
        found.session_bytes,
        budget.holds(*_counted(found, budget)),
        found.code_bytes,
        found.stack_bytes,
        found.uncounted,
    )


def _counted(found: Footprint, budget: Budget) -> tuple[int, int]:
    """(read-only bytes, RAM) as the limits of the budget count them."""
    return (
        found.model_bytes if budget.flash is None else found.flash_bytes,
        found.arena_bytes if budget.ram is None else found.ram_bytes,
    )


class Devices:
    """The targets that a model is quantized for, and the budget that holds on each of them.

    While mixes of precisions are compared, files are packed for each target, and their code and
    stack are taken from files with the same operators that were compiled and run before.
    """

    def __init__(self, names: Sequence[str], budget: Budget | None, progress: Progress) -> None:
        self.targets = [load_target(name) for name in names]
        self.progress = progress
        self.budget = replace(budget or Budget(), targets=tuple(t.name for t in self.targets))
        self._beside: dict[tuple[str, object], tuple[int, int]] = {}
        for target in self.targets:
            if target.backend:
                raise UserError(
                    f"{target.name} is an accelerator, whose board says what fits; see "
                    f"`edgekit bench --target {target.name}`"
                )
        if not self.targets and (self.budget.ram, self.budget.flash) != (None, None):
            raise UserError("ram and flash are limits of a device: say which by --target")

    def sizes(self, data: bytes) -> tuple[int, int]:
        """(read-only bytes, RAM) as the budget counts them, of the target that takes most."""
        if not self.targets:
            return generic_sizes(data)
        found = [self._assumed(data, target) for target in self.targets]
        return max(s for s, _ in found), max(m for _, m in found)

    def _assumed(self, data: bytes, target: Target) -> tuple[int, int]:
        if self.budget.flash is None and self.budget.ram is None:
            return _counted(planned(data, target), self.budget)
        key = target.name, parts_of(read(data))
        if key not in self._beside:
            known = [b for (name, _), b in self._beside.items() if name == target.name]
            if not known:
                self.learn(data, data)
                return self._assumed(data, target)
            beside = max(b[0] for b in known), max(b[1] for b in known)
        else:
            beside = self._beside[key]
        found = planned(data, target)
        return found.model_bytes + beside[0], found.arena_bytes + beside[1]

    def learn(self, searched: bytes, made: bytes) -> list[Need]:
        """What `made` takes, measured; `searched` is the file of which the search knew the size."""
        found = []
        for i, target in enumerate(self.targets):
            self.progress("measuring code and stack", i, len(self.targets))
            exact = footprint(made, target)
            before, key = planned(searched, target), (target.name, parts_of(read(searched)))
            storage, memory = _counted(exact, self.budget)
            self._beside[key] = storage - before.model_bytes, memory - before.arena_bytes
            found.append(_need(exact, [target.name], self.budget))
        return found

    def fit(
        self,
        search: Callable[[Measure], QuantizedModel],
        file: Callable[[QuantizedModel], tuple[bytes, bytes]],
    ) -> QuantizedModel:
        """What `search` finds by sizes that are those of the file it makes.

        `file` gives the file of a quantization as searched and as written, both stripped.
        """
        done = search(self.sizes)
        if not self.targets or not self.budget.limits_size:
            return done
        for _ in range(_ROUNDS):
            assert done.mixed is not None
            searched, made = file(done)
            assumed = self.sizes(searched)
            self.learn(searched, made)
            exact = self.sizes(searched)
            if self.budget.holds(*exact) == self.budget.holds(*assumed):
                return replace(done, mixed=self._exact(done.mixed, exact))
            done = search(self.sizes)
        assert done.mixed is not None
        searched, made = file(done)
        self.learn(searched, made)
        return replace(done, mixed=self._exact(done.mixed, self.sizes(searched)))

    def _exact(self, mixed: Mixed, sizes: tuple[int, int]) -> Mixed:
        """With the sizes of the file that was made, as they were measured."""
        storage, memory = sizes
        chosen = replace(mixed.chosen, file_bytes=storage, arena_bytes=memory)
        known = [chosen if p == mixed.chosen else p for p in mixed.pareto]
        met = mixed.met and self.budget.holds(*sizes)
        return replace(mixed, chosen=chosen, pareto=known, met=met)


__all__ = ["Devices", "Need", "needs"]
