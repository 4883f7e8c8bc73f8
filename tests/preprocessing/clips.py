"""Clips to try front ends on: tones, noise, chirps, pulses, speech-like sounds and the extremes."""

import numpy as np
from numpy.typing import NDArray


def clip(seed: int, samples: int, rate: int = 16000) -> NDArray[np.int16]:
    """int16 [samples]: one of eight kinds by turns, of a random loudness from 1 to full scale."""
    rng = np.random.default_rng(seed)
    t = np.arange(samples) / rate
    kind = seed % 8
    if kind == 0:
        x = np.sin(2 * np.pi * rng.uniform(30, rate / 2) * t)
    elif kind == 1:
        x = rng.standard_normal(samples) / 4
    elif kind == 2:
        x = np.sin(2 * np.pi * (100 * t + rng.uniform(0.1, 0.5) * rate / 2 * t * t))
    elif kind == 3:
        x = np.where(np.arange(samples) % int(rng.integers(50, 400)) == 0, 1.0, 0.0)
    elif kind == 4:
        x = spoken(rng, t, rate)
    elif kind == 5:
        x = rng.choice([-1.0, 1.0], samples)
    elif kind == 6:
        x = np.where(t < t[-1] / 2, 0.0, 0.3 * rng.standard_normal(samples))
    else:
        x = np.zeros(samples) if seed % 16 == 7 else np.full(samples, -1.0)
    loud = 32768.0 if kind in (5, 7) else 2.0 ** rng.uniform(0, 15)
    return np.clip(np.rint(x * loud), -32768, 32767).astype(np.int16)


def spoken(rng: np.random.Generator, t: NDArray[np.float64], rate: int) -> NDArray[np.float64]:
    """Harmonics of a gliding pitch under three gliding formants, in syllables, over faint noise."""
    pitch = rng.uniform(80, 250) * (1 + 0.1 * np.sin(2 * np.pi * rng.uniform(1, 4) * t))
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    formants = [f * (1 + 0.3 * np.sin(2 * np.pi * rng.uniform(0.5, 3) * t))
                for f in (500, 1500, 2500)]  # fmt: skip
    x = np.zeros(len(t))
    for k in range(1, 24):
        gain = sum(1 / (1 + ((k * pitch - f) / 150) ** 2) for f in formants)
        x += gain * np.sin(k * phase) * (k * pitch < rate / 2)
    syllables = np.clip(np.sin(2 * np.pi * rng.uniform(2, 5) * t), 0, 1)
    return 0.3 * x * syllables + 1e-3 * rng.standard_normal(len(t))
