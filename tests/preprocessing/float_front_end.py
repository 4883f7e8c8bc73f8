"""Front ends in float64 by scipy: an independent truth for those in integers."""

import numpy as np
import scipy.fft
import scipy.signal

LOGS = {"ln": np.log, "log10": np.log10, "db": lambda x: 10 * np.log10(x)}


def mel(hz, scale):
    if scale == "htk":
        return 2595 * np.log10(1 + np.asarray(hz) / 700)
    hz = np.asarray(hz, float)
    return np.where(
        hz < 1000, hz / (200 / 3), 15 + np.log(np.maximum(hz, 1) / 1000) * 27 / np.log(6.4)
    )


def bank(front):
    """[mels, bins], a triangle at a time."""
    hz = np.linspace(0, front.rate / 2, front.fft // 2 + 1)
    fine = np.linspace(0, front.rate / 2, 2_000_001)
    ends = mel([front.lower, front.upper or front.rate / 2], front.mel)
    edges = np.interp(np.linspace(*ends, front.mels + 2), mel(fine, front.mel), fine)
    over = (lambda f: mel(f, front.mel)) if front.triangles == "mel" else (lambda f: f)
    rows = []
    for a, b, c in zip(edges, edges[1:], edges[2:], strict=False):
        row = np.interp(over(hz), over(np.array([a, b, c])), [0, 1, 0])
        rows.append(row * (2 / (c - a) if front.area else 1))
    return np.array(rows)


def features(front, pcm, frames):
    x = pcm / 32768
    if front.peak:
        x = x / max(pcm.max(), 1) * 32768
    if front.centre != "none":
        mode = {"zero": "constant", "reflect": "reflect"}[front.centre]
        x = np.pad(x, front.fft // 2, mode=mode)[front.fft // 2 - front.window // 2 :]
    window = {"hann": "hann", "hamming": "hamming", "rectangular": "boxcar"}[front.window_function]
    w = scipy.signal.get_window(window, front.window)
    rows = [x[t * front.stride :][: front.window] * w for t in range(frames)]
    spectrum = np.abs(scipy.fft.rfft(np.array(rows), front.fft))
    if front.spectrum == "power":
        spectrum = spectrum**2
    energy = spectrum @ bank(front).T
    logs = LOGS[front.log](
        np.maximum(energy, front.floor) if front.floor else energy + front.offset
    )
    if front.kind == "mfcc":
        logs = scipy.fft.dct(logs, norm="ortho" if front.dct == "ortho" else None)
        logs = logs if front.dct == "ortho" else logs / np.sqrt(2 * front.mels)
        logs = logs[:, : front.coefficients]
    return (logs - front.mean) / front.std
