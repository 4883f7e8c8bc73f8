"""The float graph to quantize, equivalent to the given one, and its calibration."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace

from ..ir import Graph
from ..progress import Progress
from .equalization.bias_absorption import Shifts, absorbed, find_absorption_groups, find_shifts
from .equalization.cross_layer import Exponents
from .equalization.groups import names_outside
from .ranges.calibration import Calibration, calibrate
from .ranges.range_search import fixed_ranges
from .scheme.options import Options, Range
from .scheme.plan import Plan


@dataclass(frozen=True)
class FloatSource:
    """A float graph to quantize, with scaled channels and shifted biases, and its calibration;
    `wide` are its min-max ranges."""

    floats: Graph
    calibration: Calibration
    exponents: Exponents
    shifts: Shifts
    wide: dict[str, Range]

    @staticmethod
    def of(
        floats: Graph, calibration: Calibration, exponents: Exponents, shifts: Shifts
    ) -> FloatSource:
        wide = fixed_ranges(calibration, "minmax")
        return FloatSource(floats, calibration, exponents, shifts, wide)

    def absorbed(self, progress: Progress | None, histograms: bool) -> FloatSource | None:
        """The source with biases moved past ReLUs; None if no range becomes narrower."""
        shifts = find_shifts(self.floats, [s.inputs for s in self.calibration.kept])
        if not shifts:
            return None
        same = names_outside(self.floats, find_absorption_groups(self.floats), shifts)
        lower = absorbed(self.floats, shifts)
        return self.changed(lower, same, self.exponents, shifts, progress, histograms)

    def changed(
        self,
        floats: Graph,
        same: Set[str],
        exponents: Exponents,
        shifts: Shifts,
        progress: Progress | None,
        histograms: bool,
    ) -> FloatSource:
        """The source with scaled or shifted channels, calibrated on the kept samples. Statistics of
        the tensors `same`, whose values do not change, are kept; so are the ranges on outliers of
        tensors with unchanged ranges."""
        inputs = [s.inputs for s in self.calibration.kept]
        known = self.calibration.known(same)
        calibration = calibrate(floats, inputs, progress, known=known, histograms=histograms)
        now = FloatSource.of(floats, calibration, exponents, shifts)
        for name, reach in self.calibration.outlying.items():
            if now.wide.get(name) == self.wide.get(name):
                calibration.outlying[name] = reach
        return now

    def plan(self, options: Options) -> Plan:
        """The plan with these options, and with this source's means if the options have means."""
        means = self.calibration.means() if options.means else {}
        seen = {n: (s.minimum, s.maximum) for n, s in self.calibration.stats.items() if s.count}
        options = replace(options, means=means, outlying=self.calibration.outlying)
        return Plan(self.floats, self.wide, options, seen)
