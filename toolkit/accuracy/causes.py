"""Why a layer loses what it loses, and what would help: named by what is seen, proved by trying.

A remedy is tried in the simulated network (rounding_simulation.py), everything else as in the file:
the cause that a layer is given is the one whose remedy brings the outputs most of what keeping the
layer float would.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...calibration import median
from ..ir import Array, QuantParams
from ..numerics import INT16
from ..quantize.scheme.qparams import activation_params
from ..quantize.weights.weight_quantizer import WeightFormat, round_to_nearest
from .layer_statistics import LayerStatistics
from .rounding_simulation import Rounding

MUCH = 0.5
"""A remedy that brings back this part of what the layer costs names the cause."""
NARROW_USE = 0.5
"""Less of the steps in use than this is worth a finer range."""
OUTLIER = 6.0
"""Channels beyond this many times the median one make its steps coarse."""
FEW = 0.125
"""At most this part of the channels are outliers; else the others are small."""
FEW_SAMPLES = 32
DOUBT = 8.0
"""An error at a layer's output that has this many times the energy of another is not run to be
known as what costs the outputs more."""
NEVER_CLIPPED = 0.02
"""No observer leaves out so much of what it has seen."""


@dataclass(frozen=True)
class Cause:
    """A name from the list in docs/explaining-accuracy.md, what is seen, and what helps."""

    name: str
    seen: str
    advice: str

    @property
    def of_range(self) -> bool:
        """Whether it is that values lie beyond the range."""
        return self.name in ("clipped range", "too few samples")

    def __str__(self) -> str:
        return f"{self.name}: {self.seen}" if self.seen else self.name


@dataclass(frozen=True)
class Layer:
    """What is known of a layer that rounds: its facts, and how it was calibrated.

    constants   what the file has for the constants of the node that makes it, by operand
    readers     float weights [n, ..., c] of the nodes that sum over its channels, by their outputs
    shares      the tensor whose range it has to take over, because it is moved there
    sure        whether softmaxes alone read it: on int8 its range ends where they are sure
    flat        whether tables alone read it: its range ends where they are nearly flat
    unseen      whether the samples are others than those of calibration
    observer, calibrated  the file's observer, and its number of samples; None if not known
    rounding    how the file's weights were rounded
    """

    name: str
    statistics: LayerStatistics
    constants: Mapping[int, Array]
    readers: Mapping[str, Array]
    shares: str | None = None
    sure: bool = False
    flat: bool = False
    unseen: bool = True
    observer: str = "auto"
    calibrated: int | None = None
    rounding: str = "nearest"


def remedies(layer: Layer, everything: Rounding) -> Iterator[tuple[Cause, Rounding]]:
    """The causes that the facts speak for, each with the network in which it is mended."""
    f, name = layer.statistics, layer.name
    own = f.rounding + f.clipping
    if f.clipping > 0.1 * own:
        low, high = min(f.low, f.range[0]), max(f.high, f.range[1])
        wide = activation_params(low, high, f.quant.dtype)
        yield clipped(layer), _with_range(everything, name, wide)
    shifted = f.bias_share * f.weights
    if 2 in layer.constants and f.bias_share > 0.1 and DOUBT * shifted > f.rounding:
        held = {**layer.constants, **everything.constants.get(name, {})}
        mended = {**held, 2: (held[2] - f.bias).astype(np.float32)}
        constants = {**everything.constants, name: mended}
        yield rounding_bias(f), replace(everything, constants=constants)
    if f.range_use < NARROW_USE or f.core_use < NARROW_USE:
        used = f.range_use < NARROW_USE
        low, high = (f.low, f.high) if used else f.core
        tight = activation_params(low, high, f.quant.dtype)
        yield narrow(layer, used), _with_range(everything, name, tight)
    if f.constant:
        yield constant_tensor(f), everything.without({name}, {name})
    elif dead_on_top(f):
        yield dead_channel(f), _folded(layer, everything)
    elif f.outlier_ratio > OUTLIER:
        yield uneven_channels(f), _equalized(layer, everything)


def clipped(layer: Layer) -> Cause:
    """Values beyond the range, by the observer's choice or because calibration did not see them."""
    f = layer.statistics
    low, high = f.range
    seen = f"{f.saturation:.2%} of the values exceed [{low:.4g}, {high:.4g}], "
    reach = f"up to [{f.low:.4g}, {f.high:.4g}]"
    if layer.sure and not is_wide(f):
        return Cause("clipped range", f"{seen}{reach}, where the softmax is saturated", finer(f))
    if layer.flat and f.clipping_samples > f.samples / 2:
        return Cause("clipped range", f"{seen}{reach}, where its table is nearly flat", finer(f))
    if _too_few_samples(layer):
        n = "" if layer.calibrated is None else f" of {layer.calibrated} samples"
        return Cause(
            "too few samples",
            f"{f.clipping_samples} of {f.samples} samples exceed the range [{low:.4g}, "
            f"{high:.4g}]{n}, {reach}",
            "calibrate with more samples like these",
        )
    return Cause("clipped range", seen + reach, "a wider range: try --observer minmax")


def _too_few_samples(layer: Layer) -> bool:
    """min-max holds all it has seen. Another observer may clip some on purpose, but that is in most
    samples; of n samples' extremes a new one exceeds either with a chance of 1 / (n + 1)."""
    f, n = layer.statistics, layer.calibrated
    if not layer.unseen:
        return False
    if layer.observer == "minmax" or f.saturation > NEVER_CLIPPED:
        return True
    if n is None or n >= FEW_SAMPLES:
        return False
    return f.clipping_samples / f.samples <= 4 * 2 / (n + 1)


def rounding_bias(f: LayerStatistics) -> Cause:
    """Rounded weights shift whole channels."""
    worst = int(np.argmax(np.abs(f.bias)))
    return Cause(
        "rounding bias",
        f"{f.bias_share:.0%} of the weights' error shifts whole channels, "
        f"most channel {worst} by {f.bias[worst]:.3g}",
        "calibrate with more samples like these: bias correction then removes it",
    )


def narrow(layer: Layer, used: bool) -> Cause:
    """Steps that hardly any value takes."""
    f = layer.statistics
    low, high = f.range
    if used and layer.shares is not None:
        return Cause(
            "shared range",
            f"uses {f.range_use:.0%} of the range [{low:.4g}, {high:.4g}] shared with "
            f"'{layer.shares}'",
            "float where they join" if is_wide(f) else "16-bit or float where they join",
        )
    if used:
        return Cause(
            "unused range",
            f"uses {f.range_use:.0%} of the range [{low:.4g}, {high:.4g}]",
            "fit the range to the data: another --observer, or calibrate with such data"
            if layer.observer != "auto"
            else "fit the range to the data: calibrate with such data",
        )
    clipping = " or ".join(o for o in ("mse", "percentile") if o != layer.observer)
    return Cause(
        "outlier values",
        f"99.9 % of the values lie in {f.core_use:.0%} of the range [{low:.4g}, {high:.4g}]",
        f"clip them (--observer {clipping}), or {finer(f)}",
    )


def dead_on_top(f: LayerStatistics) -> bool:
    """Whether a channel that never varies reaches twice as far as all that do, if any does."""
    peaks = f.channel_peaks
    dead = np.isin(np.arange(len(peaks)), f.dead)
    return bool(dead.any() and not f.constant and peaks[dead].max() > 2 * peaks[~dead].max())


def constant_tensor(f: LayerStatistics) -> Cause:
    """Nothing varies here."""
    values = f"{f.channel_high.min():.4g} to {f.channel_high.max():.4g}"
    seen = f"no channel varies over {f.samples} samples (values {values})"
    advice = "replace it by constants, or calibrate with samples that vary it"
    return Cause("constant tensor", seen, advice)


def dead_channel(f: LayerStatistics) -> Cause:
    """Steps spent on a channel that holds one value."""
    peaks = f.channel_peaks
    top = int(np.argmax(peaks))
    return Cause(
        "dead channel",
        f"channel {top} is always {f.channel_high[top]:.4g}, the others reach "
        f"{np.delete(peaks, f.dead).max():.3g}",
        "remove the channel; move its value into the bias of the next layer",
    )


def uneven_channels(f: LayerStatistics) -> Cause:
    """One scale for channels of very different magnitude."""
    peaks = f.channel_peaks
    top = int(np.argmax(peaks))
    large = int(np.count_nonzero(peaks > peaks.max() / 2))
    seen = f"channel {top} reaches {peaks[top]:.3g}, the median channel {_median(peaks):.3g}"
    if large <= max(1, FEW * len(peaks)):
        return Cause("outlier channel", seen, f"equalize channels, or {finer(f)}")
    lost = (
        f"{len(f.lost)} of {len(peaks)} channels vary by less than a step; " if len(f.lost) else ""
    )
    return Cause(
        "small channels",
        f"{lost}{seen}",
        f"equalize channels, or {finer(f)}",
    )


def coarse_weights(rounding: str) -> Cause:
    """The weights' own rounding, and nothing simpler. `rounding`: as it is; auto has tried gptq."""
    others = {"nearest": "gptq or adaround", "auto": "adaround", "gptq": "adaround"}.get(rounding)
    advice = f"--rounding {others}, or " if others else ""
    return Cause("weight rounding", "", f"{advice}keep this layer float")


def coarse_steps(f: LayerStatistics) -> Cause:
    """No other range would serve much better: the steps themselves are too coarse."""
    bits = 8 * f.quant.dtype.itemsize
    return Cause(
        "coarse steps",
        f"limited by {bits}-bit resolution, {f.range_use:.0%} of the range used",
        finer(f),
    )


def finer(f: LayerStatistics, others: Sequence[str] = ()) -> str:
    """What helps against coarse steps: here, or only if at `others` too."""
    if others:
        what, at = "float" if is_wide(f) else "16-bit activations", "', '".join(others)
        return f"{what} here and at '{at}' together (one residual sum)"
    return "keep this layer float" if is_wide(f) else "16-bit activations here"


def is_wide(f: LayerStatistics) -> bool:
    """Whether the tensor is on 16 bits."""
    return f.quant.dtype == INT16


def inherited(culprit: str) -> Cause:
    """Nearly all of the error at a layer came in with its inputs."""
    return Cause("from earlier layers", f"mostly from '{culprit}'", "")


def harmless(f: LayerStatistics) -> Cause:
    """Much is cut off, and the outputs do not show it."""
    low, high = f.range
    return Cause(
        "harmless clipping",
        f"{f.saturation:.1%} of the values exceed [{low:.4g}, {high:.4g}], where the next layer is "
        "constant",
        "",
    )


def by_statistics(layer: Layer) -> Cause:
    """The likeliest cause of what the layer itself loses, untried."""
    f = layer.statistics
    own = f.rounding + f.clipping
    if f.constant:
        return constant_tensor(f)
    if f.weights > own:
        return rounding_bias(f) if f.bias_share > MUCH else coarse_weights(layer.rounding)
    if f.clipping > MUCH * own:
        return clipped(layer)
    if dead_on_top(f):
        return dead_channel(f)
    if f.outlier_ratio > OUTLIER:
        return uneven_channels(f)
    if f.range_use < NARROW_USE or f.core_use < NARROW_USE:
        return narrow(layer, f.range_use < NARROW_USE)
    return coarse_steps(f)


def equalizing(f: LayerStatistics) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Powers of two that bring each channel near the largest one."""
    peaks = f.channel_peaks
    top = peaks.max()
    exponents = np.floor(np.log2(top / np.where(peaks > 0, peaks, top)))
    factors: np.ndarray[tuple[int], np.dtype[np.float64]] = np.exp2(np.clip(exponents, 0, 20))
    return factors


def _equalized(layer: Layer, everything: Rounding) -> Rounding:
    """The channels made alike, and the weights that read them rounded as they then are."""
    factors = equalizing(layer.statistics)
    constants = dict(everything.constants)
    for reader, weight in layer.readers.items():
        scaled = weight / factors
        rounded = round_to_nearest(scaled, WeightFormat()) * factors
        constants[reader] = {**constants.get(reader, {}), 1: rounded.astype(np.float32)}
    return replace(
        everything, factors={**everything.factors, layer.name: factors}, constants=constants
    )


def _folded(layer: Layer, everything: Rounding) -> Rounding:
    """The range of the channels that vary; the others scaled so that a step meets them exactly."""
    f = layer.statistics
    alive = np.delete(np.arange(len(f.channel_low)), f.dead)
    low, high = f.channel_low[alive].min(initial=0.0), f.channel_high[alive].max(initial=0.0)
    quant = activation_params(float(low), float(high), f.quant.dtype)
    factors = np.ones(len(f.channel_low))
    for c in f.dead:
        value = f.channel_high[c]
        at = quant.qmax if value > 0 else quant.qmin
        if value and at != quant.zero_point:
            factors[c] = (at - quant.zero_point) * quant.scalar / value
    narrowed = _with_range(everything, layer.name, quant)
    return replace(narrowed, factors={**everything.factors, layer.name: factors})


def _median(peaks: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    return median(peaks[peaks > 0]) if peaks.any() else 0.0


def _with_range(everything: Rounding, name: str, quant: QuantParams) -> Rounding:
    return replace(everything, quant={**everything.quant, name: quant})
