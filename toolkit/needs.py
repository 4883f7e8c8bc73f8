"""What a file takes on the targets that it can be built for, as `build` prepares it there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .. import targets
from ..targets import Target
from .errors import UserError
from .format.reader import read
from .format.strip import strip, stripped
from .format.writer import write
from .progress import Progress
from .quantize import Budget, Mixed
from .quantize import Quantized as QuantizedModel
from .quantize.budget import Sizes
from .quantize.mixed_precision.evaluator import Measure, generic_sizes

if TYPE_CHECKING:  # device/ takes time to import, and most quantize for no target
    from .device.footprint import Footprint
    from .device.op_counts import OpCounts

_ROUNDS = 5
"""Searches, at most, until what one assumed of code and stack is what its file takes."""


@dataclass(frozen=True)
class Need:
    """Bytes of a model on `targets`, which prepare it alike.

    `session_bytes` is the arena, state and the session itself; None where kernels pack the weights
    when a session is made, and the device says how much that takes (ek_session_size). `within` is
    whether they and the instructions are in the budget. `code_bytes`, `stack_bytes` and the
    instructions of one inference are known where they were measured; `uncounted` says why not,
    where they should have been.
    """

    targets: list[str]
    model_bytes: int
    arena_bytes: int
    session_bytes: int | None
    within: bool
    code_bytes: int | None = None
    stack_bytes: int | None = None
    uncounted: tuple[str, ...] = ()
    instructions: int | None = None


def needs(data: bytes, budget: Budget) -> list[Need]:
    """What the generic file `data` takes on the targets that execute it, by their plans."""
    from .device.footprint import planned

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
        budget.holds(_counted(found, budget)),
        found.code_bytes,
        found.stack_bytes,
        found.uncounted,
        found.instructions,
    )


def _counted(found: Footprint, budget: Budget) -> Sizes:
    """What the limits of the budget count."""
    return Sizes(
        found.model_bytes if budget.flash is None else found.flash_bytes,
        found.arena_bytes if budget.ram is None else found.ram_bytes,
        found.instructions or 0,
    )


@dataclass(frozen=True)
class Decoding:
    """What weights behind codecs add to the `total` instructions of an inference on a target, by
    the names of operators."""

    target: str
    total: int
    more: dict[str, int]


def _opened(names: Sequence[str]) -> list[Target]:
    if not names:
        return []
    from .device.build import load_target

    return [load_target(name) for name in names]


def _counters(targets: Sequence[Target]) -> list[OpCounts]:
    if not targets:
        return []
    from .device.op_counts import OpCounts

    return [OpCounts(target) for target in targets]


class Devices:
    """The targets that a model is quantized for, and the budget that holds on each of them.

    While mixes of precisions are compared, files are packed for each target, and their code, stack
    and instructions are taken from files with the same operators that were compiled and run before.
    Instructions count where they are limited, or are to be `counted`.
    """

    def __init__(
        self,
        names: Sequence[str],
        budget: Budget | None,
        progress: Progress,
        counted: bool = False,
    ) -> None:
        self.targets = _opened(names)
        self.progress = progress
        self.budget = replace(budget or Budget(), targets=tuple(t.name for t in self.targets))
        self._beside: dict[tuple[str, object], tuple[int, int]] = {}
        for target in self.targets:
            if target.backend:
                raise UserError(
                    f"{target.name} is an accelerator, for which limits are not supported; see "
                    f"`edgekit bench --target {target.name}`"
                )
        limits = self.budget.ram, self.budget.flash, self.budget.max_instructions
        if not self.targets and limits != (None, None, None):
            raise UserError("limits on ram, flash and instructions require --target")
        limited = self.budget.max_instructions is not None
        self.counts = _counters([t for t in self.targets if limited or (counted and t.emulator)])

    def sizes(self, data: bytes) -> Sizes:
        """What the budget counts, of the target that takes most."""
        if not self.targets:
            return generic_sizes(data)
        found = [self._assumed(data, target) for target in self.targets]
        return Sizes(
            max(s.storage for s in found), max(s.memory for s in found), self._instructions(data)
        )

    def _instructions(self, data: bytes) -> int:
        return max((counts.total(data) for counts in self.counts), default=0)

    def decoding(self, plain: bytes, coded: bytes) -> list[Decoding]:
        """Of two generic files that differ in the storage of weights, for each target."""
        names = read(coded).op_names
        found = []
        for i, counts in enumerate(self.counts):
            self.progress("counting instructions", i, len(self.counts))
            (total, before), (_, after) = counts.count(plain), counts.count(coded)
            more = {n: b - a for n, a, b in zip(names, before, after, strict=True)}
            found.append(Decoding(counts.target.name, total, more))
        return found

    def _assumed(self, data: bytes, target: Target) -> Sizes:
        from .device.build import parts_of
        from .device.footprint import planned

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
        return Sizes(found.model_bytes + beside[0], found.arena_bytes + beside[1])

    def learn(self, searched: bytes, made: bytes) -> list[Need]:
        """What `made` takes, measured; `searched` is the file of which the search knew the size."""
        from .device.build import parts_of
        from .device.footprint import footprint, planned

        found = []
        for i, target in enumerate(self.targets):
            self.progress("measuring code and stack", i, len(self.targets))
            exact = footprint(made, target)
            before, key = planned(searched, target), (target.name, parts_of(read(searched)))
            storage, memory, _ = _counted(exact, self.budget)
            self._beside[key] = storage - before.model_bytes, memory - before.arena_bytes
            found.append(_need(exact, [target.name], self.budget))
        for counts in self.counts:
            counts.count(searched)
        return found

    def needed(self, searched: bytes, made: bytes) -> list[Need]:
        """What the file `made` takes on the targets asked for; with a limit of size of generic
        files on all, by their plans."""
        if self.targets:
            return self.learn(strip(searched), strip(made))
        return needs(searched, self.budget) if self.budget.limits_size else []

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
            if self.budget.holds(exact) == self.budget.holds(assumed):
                return replace(done, mixed=self._exact(done.mixed, exact))
            done = search(self.sizes)
        assert done.mixed is not None
        searched, made = file(done)
        self.learn(searched, made)
        return replace(done, mixed=self._exact(done.mixed, self.sizes(searched)))

    def _exact(self, mixed: Mixed, sizes: Sizes) -> Mixed:
        """With the sizes of the file that was made, as they were measured."""
        storage, memory, counted = sizes
        chosen = replace(
            mixed.chosen, file_bytes=storage, arena_bytes=memory, instructions=counted or None
        )
        known = [chosen if p == mixed.chosen else p for p in mixed.pareto]
        met = mixed.met and self.budget.holds(sizes)
        return replace(mixed, chosen=chosen, pareto=known, met=met)


__all__ = ["Devices", "Need", "needs"]
