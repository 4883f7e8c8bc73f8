"""Weights rounded for one half of the samples, that the other half may judge them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...progress import Progress
from ..ranges.calibration import KeptSample, halves
from ..reconstruction.layer_rounding import round_weights
from ..result import Quantized
from ..scheme.options import RoundedWeights
from ..scheme.plan import Plan
from .precision_change import Setting


class Roundings:
    """The rounded weights of settings, those of each of the `parts` in a list: of the halves that
    judge one another, or of all samples, which judge themselves.

    4-bit weights are the nearest until `keep_int4`.
    """

    def __init__(self, done: Quantized, held_out: bool, progress: Progress) -> None:
        self.done, self.progress = done, progress
        kept = done.calibration.kept
        self.parts = halves(kept) if held_out and len(kept) > 1 else [(kept, slice(None))]
        self.int4: dict[int, list[RoundedWeights]] = {}
        self.mixes: list[list[RoundedWeights]] = [[{} for _ in self.parts]]
        self.as_done: list[RoundedWeights] = [done.options.rounded for _ in self.parts]
        if len(self.parts) > 1 and done.options.rounded:
            known = done.by_halves or (self._again(done.plan, half) for half, _ in self.parts)
            self.as_done = list(known)

    def plan(self, setting: Setting, part: int = 0) -> Plan:
        """That of a setting, its weights rounded for this part."""
        some = self.int4[setting.group][part] if setting.group in self.int4 else {}
        rounded = {**self.as_done[part], **some, **self.mixes[setting.weights][part]}
        return self.done.plan.mixed(replace(setting.apply(self.done.options), rounded=rounded))

    def keep_int4(self, setting: Setting) -> None:
        """Hold 4-bit weights of settings with its `group` as they are rounded for this one."""
        found = self._anew(setting, False)
        self.int4[setting.group] = [{k: r for k, r in f.items() if k[1] == 4} for f in found]

    def add(self, setting: Setting, anew: bool) -> Setting:
        """The setting with weights rounded for itself: those that are not the nearest, or all."""
        self.mixes.append(self._anew(setting, anew))
        return replace(setting, weights=len(self.mixes) - 1)

    def final(self, setting: Setting) -> Plan:
        """The plan of a setting, its weights rounded for all samples."""
        plan = self.plan(setting)
        if len(self.parts) > 1 and plan.options.rounded:
            plan = plan.with_rounded(self._again(plan, self.done.calibration.kept))
        return plan

    def differ(self, plan: Plan) -> bool:
        """Whether `plan`, of a setting, has weights that are not the same for every part."""
        return len(self.parts) > 1 and plan.has_rounded

    def _anew(self, setting: Setting, anew: bool) -> list[RoundedWeights]:
        """For each part those that are not the nearest and those of 4 bits, or all: `anew`."""
        made: list[RoundedWeights] = []
        for i, (samples, _) in enumerate(self.parts):
            plan = self.plan(setting, i)
            known, found = plan.options.rounded, self._round(plan, samples)
            made.append({k: r for k, r in found.items() if anew or k in known or k[1] == 4})
        return made

    def _again(self, plan: Plan, samples: Sequence[KeptSample]) -> RoundedWeights:
        """Those that `plan` has rounded, for these samples."""
        known = plan.options.rounded
        return {k: r for k, r in self._round(plan, samples).items() if k in known}

    def _round(self, plan: Plan, samples: Sequence[KeptSample]) -> RoundedWeights:
        inputs = [s.inputs for s in samples]
        return round_weights(plan, self.done.ranges, inputs, self.progress, self.done.rounding)
