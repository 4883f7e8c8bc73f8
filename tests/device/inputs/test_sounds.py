"""Sound becomes in C what it becomes in Python, on every target."""

import ctypes
from functools import cache

import numpy as np
import pytest

from edgekit import runtime_c
from edgekit.calibration import InputSpec
from edgekit.toolkit.device.described import describe_for_c
from edgekit.toolkit.device.process import find
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.ir import QuantParams
from edgekit.toolkit.preprocessing import SoundPreprocessing, front_end
from edgekit.toolkit.runtime import Session

from ...preprocessing.clips import clip
from .made import file_of, library_of, on_device

CLIPS = 1000
SMALL = "fft=256,window=200,stride=160,mels=20,lower=60,upper=7000"
CASES = {
    "peak": ("tf-mfcc:clip=0", (1, 2, 10, 1), np.int8, QuantParams((0.5847,), 83)),
    "mfcc": (f"mfcc:{SMALL},coefficients=8", (1, 4, 8), np.int8, QuantParams((0.031,), -7)),
    "log_mel": (f"log-mel:{SMALL},log=db,area=yes", (1, 20, 4), np.int16,
                QuantParams.int16(0.004)),
    "centred": (f"log-mel:{SMALL},centre=reflect,floor=1e-9", (1, 4, 20), np.float32, None),
    "padded": ("librosa:mels=32,fft=1024,window=1000", (1, 2, 32), np.int8, QuantParams((0.5,), 9)),
    "samples": ("pcm:rate=8000", (1, 400), np.int8, QuantParams((1 / 100,), -3)),
}  # fmt: skip


def model_of(case):
    """A file whose input is as in CASES, with the record of it."""
    text, shape, kind, quant = CASES[case]
    made = SoundPreprocessing.of(front_end(text), InputSpec("x", shape, np.dtype(np.float32)))
    return file_of(shape, kind, quant, made), made


@cache
def wanted(case, count):
    """(clips int16 [count, samples], every one as a session takes it)."""
    data, made = model_of(case)
    session = Session(data)
    pcm = np.stack([clip(i, made.samples, made.front.rate) for i in range(count)])
    return pcm, np.stack([session.to_raw({"x": one})[0] for one in pcm])


def sound_library(folder, case, compiler):
    return library_of(
        folder, model_of(case)[0], compiler, runtime_c.SOURCE / "src" / "sound.c",
        "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error",
    )  # fmt: skip


@pytest.mark.parametrize("compiler", ["gcc", "clang-19"])
def test_c_gives_pythons_bytes_without_a_warning(tmp_path, compiler):
    if not find(compiler):
        pytest.skip(f"{compiler} is not installed")
    for case in CASES:
        (tmp_path / case).mkdir()
        library = sound_library(tmp_path / case, case, compiler)
        for pcm, right in zip(*wanted(case, 160), strict=True):
            got = np.empty_like(right)
            library.m_input_from_pcm(got.ctypes.data_as(ctypes.c_void_p),
                                     pcm.ctypes.data_as(ctypes.c_void_p))  # fmt: skip
            np.testing.assert_array_equal(got, right)


def test_a_stream_ends_with_the_frames_of_its_last_samples(tmp_path):
    library, (_, made) = sound_library(tmp_path, "log_mel", "gcc"), model_of("log_mel")
    front, (pcm, right) = made.front, wanted("log_mel", 8)
    stream = ctypes.create_string_buffer(1 << 14)
    begin = np.zeros_like(right[0])
    session = Session(model_of("log_mel")[0])
    library.m_input_begin(stream)
    library.m_input_from_stream(begin.ctypes.data_as(ctypes.c_void_p), stream)
    silence = np.zeros(made.samples, np.int16)
    np.testing.assert_array_equal(begin, session.to_raw({"x": silence})[0])
    for one, want in zip(pcm, right, strict=True):
        library.m_input_begin(stream)
        padded = np.pad(one, (front.stride - (len(one) - front.window) % front.stride, 0))
        padded = padded[len(padded) % front.stride :]
        for at in range(0, len(padded), front.stride):
            hop = np.ascontiguousarray(padded[at : at + front.stride])
            library.m_input_push(stream, hop.ctypes.data_as(ctypes.c_void_p))
        got = np.zeros_like(want)
        library.m_input_from_stream(got.ctypes.data_as(ctypes.c_void_p), stream)
        last = padded[-made.samples :]
        want = session.to_raw({"x": last})[0] if len(padded) >= made.samples else want
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("case", ["peak", "log_mel", "padded"])
def test_quantizing_is_that_of_floats(tmp_path, case):
    """ek_sound_quantize against ek_quantize_f32: of a range of features, and at every tie."""
    library = sound_library(tmp_path, "mfcc", "gcc")
    quantize = library.ek_sound_quantize
    quantize.argtypes = [ctypes.c_int32, ctypes.c_uint32, *[ctypes.c_int32] * 4]
    data, _ = model_of(case)
    (c,) = describe_for_c(read(data), "m", "m.edge").sounds
    session = Session(data)
    size = session.inputs[0].shape
    rng = np.random.default_rng(0)
    scale = np.float32(session.inputs[0].scale)
    ties = np.rint((np.arange(-300, 300) + 0.5) * scale * 16384)
    spread = rng.integers(-(1 << 23) + 1, 1 << 23, 3000) >> rng.integers(0, 22, 3000)
    values = np.concatenate([ties, ties + 1, ties - 1, spread, [0]]).astype(np.int32)
    values = np.clip(values, -(1 << 23) + 1, (1 << 23) - 1)
    each = int(np.prod(size))
    padded = np.resize(values, -(-len(values) // each) * each)
    for part in padded.reshape(-1, *size):
        right = session.to_raw({"x": np.ldexp(part.astype(np.float32), -14)})[0]
        mine = [quantize(int(v), c.mantissa, c.exponent, c.zero_point, c.low, c.high)
                for v in part.ravel()]  # fmt: skip
        np.testing.assert_array_equal(np.array(mine).reshape(size), right.reshape(size))


MAIN = """
#include "edgekit/edgekit.h"
#include "m_model.h"

static int16_t samples[M_INPUT_SAMPLES];
static uint8_t out[%d];

int main(int argc, char **argv)
{
    const int from = argc == 3 ? io_open(argv[1], 0) : -1;
    const int to = argc == 3 ? io_open(argv[2], 1) : -1;
    if (from < 0 || to < 0) return 1;
    for (uint32_t i = 0; i < %d; i++) {
        if (io_read(from, samples, sizeof samples) != sizeof samples) return 2;
        m_input_from_pcm(out, samples);
        if (io_write(to, out, sizeof out) != sizeof out) return 3;
    }
    io_close(to);
    return 0;
}
"""


@pytest.mark.parametrize("name", ["cortex_m4", "cortex_m0plus", "aarch64_linux"])
def test_a_device_gives_pythons_bytes(ready, tmp_path, name):
    pcm, right = wanted("peak", CLIPS)
    main = MAIN % (right[0].nbytes, CLIPS)
    made = on_device(ready(name), tmp_path, model_of("peak")[0], main, pcm.tobytes())
    assert made == right.tobytes()
