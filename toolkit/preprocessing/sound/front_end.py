"""Parameters of audio front ends, and presets."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

from ...errors import UserError

_CHOICES = {
    "kind": ("pcm", "log-mel", "mfcc"),
    "window_function": ("hann", "hamming", "rectangular"),
    "spectrum": ("power", "magnitude"),
    "mel": ("htk", "slaney"),
    "triangles": ("hz", "mel"),
    "log": ("ln", "log10", "db"),
    "dct": ("ortho", "tf"),
    "centre": ("none", "zero", "reflect"),
}
MOST_FFT, MOST_MELS, MOST_RATE = 4096, 128, 192_000


@dataclass(frozen=True)
class FrontEnd:
    """Conversion of mono int16 samples at `rate` Hz to features. `kind` "pcm": sample / 32768 only.

    Samples in -1 to 1 are multiplied by a periodic window of `window` samples, every `stride`
    samples. The magnitude of a DFT of `fft` points, or its square, passes a bank of `mels` triangle
    filters from `lower` to `upper` Hz, linear in Hz or mel, of height 1 or, with `area`, of area 1
    (in Hz). Then log(x + offset), or log(max(x, floor)) if the floor is not 0; for "mfcc" the first
    `coefficients` of the DCT-II, orthonormal or all times sqrt(2 / mels) ("tf"); then
    (x - mean) / std. Lengths are in samples.

    `centre`: frames are centred at multiples of the stride, padded with zeros or by reflection;
    "none": frames begin there. `peak`: samples are first divided by their largest magnitude.
    `clip`: samples of one input; 0: as many as its frames need.
    """

    kind: str = "log-mel"
    rate: int = 16000
    window: int = 400
    stride: int = 160
    fft: int = 512
    mels: int = 40
    coefficients: int = 0
    lower: float = 0.0
    upper: float = 0.0
    window_function: str = "hann"
    spectrum: str = "power"
    mel: str = "htk"
    triangles: str = "hz"
    area: bool = False
    log: str = "ln"
    offset: float = 1e-6
    floor: float = 0.0
    dct: str = "ortho"
    centre: str = "none"
    peak: bool = False
    mean: float = 0.0
    std: float = 1.0
    clip: int = 0

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                word = name.replace("_", "-")
                raise ValueError(
                    f"{word} '{getattr(self, name)}' is not one of {', '.join(choices)}"
                )
        if not 1 <= self.rate <= MOST_RATE:
            raise ValueError(f"rate {self.rate} is not in 1 to {MOST_RATE}")
        if self.kind != "pcm":
            self._check_frames()
            self._check_numbers()

    def _check_frames(self) -> None:
        if self.fft & (self.fft - 1) or not 16 <= self.fft <= MOST_FFT:
            raise ValueError(f"fft {self.fft} is not a power of 2 in 16 to {MOST_FFT}")
        if not 2 <= self.window <= self.fft:
            raise ValueError(f"window {self.window} is not in 2 to fft, {self.fft}")
        if not 1 <= self.stride <= 1 << 20 or not 0 <= self.clip <= 1 << 28:
            raise ValueError(f"stride {self.stride} or clip {self.clip} is out of range")
        if not 1 <= self.mels <= MOST_MELS:
            raise ValueError(f"mels {self.mels} is not in 1 to {MOST_MELS}")
        most = self.mels if self.kind == "mfcc" else 0
        if not (self.kind == "mfcc") <= self.coefficients <= most:
            raise ValueError(f"coefficients {self.coefficients} is not in 1 to mels (mfcc only)")

    def _check_numbers(self) -> None:
        numbers = self.lower, self.upper, self.offset, self.floor, self.mean, self.std
        if not all(map(math.isfinite, numbers)):
            raise ValueError("lower, upper, offset, floor, mean and std must be finite")
        if not 0 <= self.lower < self.top <= self.rate / 2:
            raise ValueError(f"lower {self.lower:g} and upper {self.top:g} must be 0 to rate / 2")
        if not 1e-20 <= self.least <= 1e6 or min(self.offset, self.floor) < 0:
            raise ValueError(f"offset {self.offset:g} or floor {self.floor:g} must be 1e-20 to 1e6")
        if not 1e-3 <= self.std <= 1e3 or abs(self.mean) > 512 * self.std:
            raise ValueError(f"std {self.std:g} is not in 0.001 to 1000, or mean beyond 512 std")

    @property
    def top(self) -> float:
        """Hz, the upper edge of the last triangle."""
        return self.upper or self.rate / 2

    @property
    def least(self) -> float:
        """What is added to every x before the logarithm, or the least x."""
        return self.floor or self.offset

    @property
    def features(self) -> int:
        """Of a frame."""
        return {"pcm": 1, "log-mel": self.mels, "mfcc": self.coefficients}[self.kind]

    @property
    def words(self) -> str:
        """In words: "mfcc of 16000 Hz, ..."."""
        if self.kind == "pcm":
            return f"samples at {self.rate} Hz"
        told = f"{self.mels} mel bands" + f", {self.coefficients} coefficients" * bool(
            self.coefficients
        )
        return (
            f"{self.kind} at {self.rate} Hz: window {self.window}, stride {self.stride}, "
            f"fft {self.fft}, {told}, {self.lower:g} to {self.top:g} Hz"
        )


PRESETS = {
    "pcm": FrontEnd("pcm"),
    "log-mel": FrontEnd(),
    "mfcc": FrontEnd("mfcc", coefficients=13),
    "tf-mfcc": FrontEnd(
        "mfcc", window=480, stride=320, coefficients=10, lower=20.0, upper=4000.0,
        spectrum="magnitude", triangles="mel", dct="tf", peak=True, clip=16000,
    ),
    "torchaudio": FrontEnd(mels=80, centre="reflect"),
    "librosa": FrontEnd(
        rate=22050, window=2048, stride=512, fft=2048, mels=128, mel="slaney", area=True, log="db",
        offset=0.0, floor=1e-10, centre="zero",
    ),
}  # fmt: skip
"""By name: `tf-mfcc` is tf.signal's stft, linear_to_mel_weight_matrix and
mfccs_from_log_mel_spectrograms as MLPerf Tiny's keyword spotting calls them; `torchaudio` is the
logarithm of MelSpectrogram(16000, n_fft=512, win_length=400, hop_length=160, n_mels=80) + 1e-6;
`librosa` is power_to_db(melspectrogram(y), top_db=None) with its defaults."""


def parse(text: str) -> FrontEnd:
    """The front end that NAME or NAME:KEY=VALUE,... says, a preset with parameters changed.

    Lengths may be given in ms and s. Raises UserError.
    """
    name, _, changes = text.partition(":")
    if name not in PRESETS:
        raise UserError(f"no preset '{name}' of sounds; there are: {', '.join(PRESETS)}")
    made: dict[str, Any] = {}
    given = [word.partition("=") for word in changes.split(",") if word]
    rates = [value for key, _, value in given if key == "rate"]
    known = {f.name.replace("_", "-"): f.name for f in fields(FrontEnd) if f.name != "kind"}
    try:
        rate = int(rates[-1]) if rates else PRESETS[name].rate
        for key, equals, value in given:
            if key not in known or not equals:
                raise UserError(
                    f"--preprocess {name}: no parameter '{key}'; there are: {', '.join(known)}"
                )
            before = getattr(PRESETS[name], known[key])
            made[known[key]] = _READ[type(before)](value, rate)
        return replace(PRESETS[name], **made)
    except ValueError as why:
        raise UserError(f"--preprocess {text}: {why}") from why


def _whole(value: str, rate: int) -> int:
    found = re.fullmatch(r"([\d.]+)(ms|s)", value)
    if found is None:
        return int(value)
    samples = float(found[1]) * rate / (1000 if found[2] == "ms" else 1)
    return round(samples)


def _yes(value: str, rate: int) -> bool:
    if value not in ("yes", "no"):
        raise ValueError(f"'{value}' is neither yes nor no")
    return value == "yes"


_READ: dict[type, Callable[[str, int], Any]] = {
    int: _whole,
    bool: _yes,
    float: lambda value, rate: float(value),
    str: lambda value, rate: value,
}
