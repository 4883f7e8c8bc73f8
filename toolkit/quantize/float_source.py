"""The float graph to quantize, equivalent to the given one, and its calibration."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace

from ..ir import Graph
from ..progress import Progress
from .equalization.bias_absorption import Shifts, absorbed, find_absorption_groups, find_shifts
from .equalization.channel_factors import unscaled
from .equalization.channel_statistics import ChannelStatistics
from .equalization.cross_layer import Causes, Exponents, equalized, find_exponents
from .equalization.groups import names_outside
from .ranges.calibration import Calibration, calibrate
from .ranges.range_search import fixed_ranges
from .ranges.rescaled import rescaled
from .scheme.options import Options, Range, Ranges
from .scheme.plan import Plan
from .scheme.qparams import activation_params
from .weights.weight_quantizer import WeightFormat

SPARE = 64
"""Samples below which what tables read has room on int16 as well: of n samples one in n + 1 others
exceeds all, and with the room a table has half the entries for the rest."""


@dataclass(frozen=True)
class FloatSource:
    """A float graph to quantize, with scaled channels and shifted biases, and its calibration;
    `wide` are its min-max ranges, `channels` the statistics of the original graph's channels, if
    known."""

    floats: Graph
    calibration: Calibration
    exponents: Exponents
    shifts: Shifts
    wide: dict[str, Range]
    channels: ChannelStatistics | None = None

    @staticmethod
    def of(
        floats: Graph,
        calibration: Calibration,
        exponents: Exponents,
        shifts: Shifts,
        channels: ChannelStatistics | None = None,
    ) -> FloatSource:
        wide = fixed_ranges(calibration, "minmax")
        return FloatSource(floats, calibration, exponents, shifts, wide, channels)

    def equalized(
        self,
        causes: Causes | None,
        forms: Mapping[str, WeightFormat],
        progress: Progress | None,
        histograms: bool,
    ) -> FloatSource | None:
        """The source with equalized channels; None if nothing changes. `causes` and `forms` as for
        find_exponents."""
        channels = self.channels
        assert channels is not None
        exponents = find_exponents(self.floats, channels.groups, channels.ranges(), causes, forms)
        if not exponents:
            return None
        scaled, scales = equalized(self.floats, exponents), channels.scales(exponents)
        names = {v.name for v in self.floats.values()}
        if not histograms:
            known = rescaled(self.calibration, scaled, scales, unscaled(scaled, names))
            if known is not None:
                return FloatSource.of(scaled, known, exponents, {}, channels)
        same = names - scales.keys()
        return self._changed(scaled, same, exponents, {}, progress, histograms)

    def absorbed(
        self,
        ranges: Ranges,
        causes: Causes,
        gain_db: float,
        progress: Progress | None,
        histograms: bool,
    ) -> FloatSource | None:
        """The source with biases moved past ReLUs; None if no range becomes narrower, or if the
        tensors whose `ranges` do cause too little noise for a gain of `gain_db`, as `causes`
        tells."""
        assert self.channels is not None
        shifts = find_shifts(self.floats, self.channels.extremes(self.exponents))
        if not shifts:
            return None
        same = names_outside(self.floats, find_absorption_groups(self.floats), shifts)
        shifted = {v.name for v in self.floats.values()} - same
        rounded = {n: activation_params(*r) for n, r in ranges.items() if n in shifted}
        least = 1 - 10 ** (-gain_db / 10)
        if not causes([(rounded, lambda share: share > least)])[0]:
            return None
        lower = absorbed(self.floats, shifts)
        return self._changed(lower, same, self.exponents, shifts, progress, histograms)

    def _changed(
        self,
        floats: Graph,
        same: Set[str],
        exponents: Exponents,
        shifts: Shifts,
        progress: Progress | None,
        histograms: bool,
    ) -> FloatSource:
        """The source with scaled or shifted channels, calibrated on the kept samples. Statistics of
        the tensors `same`, whose values do not change, are kept."""
        inputs = [s.inputs for s in self.calibration.kept]
        known = self.calibration.known(same)
        calibration = calibrate(floats, inputs, progress, known=known, histograms=histograms)
        return FloatSource.of(floats, calibration, exponents, shifts, self.channels)

    def plan(self, options: Options) -> Plan:
        """The plan with these options, and with this source's means if the options have means."""
        means = self.calibration.means() if options.means else {}
        seen = {n: (s.minimum, s.maximum) for n, s in self.calibration.stats.items() if s.count}
        options = replace(options, means=means, spare=self.calibration.samples < SPARE)
        return Plan(self.floats, self.wide, options, seen)
