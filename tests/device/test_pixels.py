"""Pixels of a camera become in C what they become in Python, on every target."""

import ctypes
import json
import subprocess
from functools import cache

import numpy as np
import pytest

from edgekit import runtime_c, targets
from edgekit.calibration import ImageOptions, InputSpec
from edgekit.toolkit.build import build_file
from edgekit.toolkit.device.build import build
from edgekit.toolkit.device.described import PixelsOfC, c_float, c_string, describe_for_c
from edgekit.toolkit.device.process import find
from edgekit.toolkit.device.templates import render
from edgekit.toolkit.format.model import Provenance
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.ir import Graph, Node, Port, QuantParams, TensorType, Value
from edgekit.toolkit.preprocessing import FORMATS, Preprocessing, preset, to_rgb
from edgekit.toolkit.runtime import Session

H, W = 5, 8
IMAGES = 1000
CASES = {
    "imagenet": ((1, 3, H, W), np.int8, preset("imagenet"), QuantParams((0.0187,), -14)),
    "shared": ((1, H, W, 3), np.int8, preset("-1..1"), QuantParams((2 / 255,), 0)),
    "no_table": ((1, H, W, 3), np.int8, preset("0..1"), QuantParams((1 / 255,), -128)),
    "gray": ((1, H, W, 1), np.int16, preset("0..1"), QuantParams.int16(1 / 32000)),
    "caffe": ((1, 3, H, W), np.float32, preset("caffe"), None),
    "alpha": ((1, H, W, 4), np.int8, ImageOptions(bgr=True), QuantParams((1 / 200,), -100)),
}


def model_of(case):
    """A file whose input is as in CASES, with the record of it."""
    shape, kind, image, quant = CASES[case]
    x = Value("x", TensorType(np.dtype(kind), shape), quant=quant)
    y = Value("y", TensorType(np.dtype(kind), (1, int(np.prod(shape)))), quant=quant)
    node = Node("Reshape", [x], [y], {"shape": y.shape}, "y")
    graph = Graph([node], [Port("x", x, 1, shape)], [Port("y", y, 1, y.shape)])
    made = Preprocessing.of(image, InputSpec("x", shape, np.dtype(np.float32)))
    options = json.dumps({"preprocessing": {"x": made.to_json()}})
    return build_file(graph, Provenance("edgekit", options=options))


def pixels_of(form, seed):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (IMAGES, H, W, FORMATS[form].bytes)).astype(np.uint8)


def wanted(data, form, pixels):
    """Every image as a session takes it."""
    session = Session(data)
    rgb = to_rgb(pixels, form)
    return np.stack([session.to_raw({"x": image})[0] for image in rgb])


@cache
def of_case(case, form):
    """(pixels, what a session takes for them): for both compilers."""
    pixels = pixels_of(form, list(FORMATS).index(form))
    return pixels, wanted(model_of(case), form, pixels)


def test_rgb565_has_the_corners_of_rgb():
    words = np.array([0x0000, 0xFFFF, 0xF800, 0x07E0, 0x001F, 0x8410], "<u2").view(np.uint8)
    rgb = to_rgb(words.reshape(-1, 2), "rgb565").tolist()
    assert rgb == [[0, 0, 0], [255] * 3, [255, 0, 0], [0, 255, 0], [0, 0, 255], [132, 130, 132]]


def test_yuv_is_that_of_jpeg_and_needs_pairs():
    from PIL import Image

    rng = np.random.default_rng(5)
    pairs = rng.integers(0, 256, (40, 30, 2, 2)).astype(np.uint8)
    full = np.stack([pairs[..., 0], *(np.repeat(pairs[:, :, i : i + 1, 1], 2, 2) for i in (0, 1))],
                    axis=-1).reshape(40, 60, 3)  # fmt: skip
    right = np.asarray(Image.fromarray(full, "YCbCr").convert("RGB")).astype(int)
    mine = to_rgb(pairs.reshape(40, 60, 2), "yuyv")
    assert np.abs(mine - right).max() <= 1  # Pillow rounds each product
    assert np.array_equal(mine, to_rgb(pairs.reshape(40, 60, 2)[..., ::-1], "uyvy"))
    record = Preprocessing(4, 5, 3, False, 1.0)
    assert PixelsOfC("f", "int8_t", record, False, []).formats == [
        "rgb888",
        "bgr888",
        "rgb565",
        "gray8",
    ]


@pytest.mark.parametrize("compiler", ["gcc", "clang-19"])
@pytest.mark.parametrize("case", CASES)
def test_c_gives_pythons_bytes_without_a_warning(tmp_path, case, compiler):
    if not find(compiler):
        pytest.skip(f"{compiler} is not installed")
    data = model_of(case)
    model = read(data)
    about = describe_for_c(model, "m", "m.edge")
    values = {"prefix": "m", "header": "m_model", "renamed": True, "bare_metal": True, "arena": 1,
              "persistent": 0, "about": about, "self_test": None, "several": False}  # fmt: skip
    render("project/model.h", tmp_path, "m_model.h", **values)
    render("project/input.c", tmp_path, "m_input.c", **values)
    command = [compiler, "-std=c11", "-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-Wpedantic",
               "-Werror", "-Wconversion", f"-I{runtime_c.SOURCE / 'include'}"]  # fmt: skip
    subprocess.run([*command, "m_input.c", "-o", "m.so"], cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / "m.so"))
    for form in FORMATS:
        pixels, want = of_case(case, form)
        function = getattr(library, f"m_input_from_{form}")
        function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
        row = W * FORMATS[form].bytes + 3  # bytes between rows belong to nobody
        for image, right in zip(pixels, want, strict=True):
            padded = np.full((H, row), 0xA5, np.uint8)
            padded[:, : row - 3] = image.reshape(H, -1)
            got = np.empty_like(right)
            function(got.ctypes.data, padded.ctypes.data, row)
            np.testing.assert_array_equal(got, right)
    assert (tmp_path / "m_input.c").read_text().count("_levels[") == (case != "no_table") * 2


MAIN = """
#include "edgekit/edgekit.h"
#include "m_model.h"
%s

static uint8_t pixels[%d * 3];
static uint8_t out[%d];

int main(int argc, char **argv)
{
    const int from = argc == 3 ? io_open(argv[1], 0) : -1;
    const int to = argc == 3 ? io_open(argv[2], 1) : -1;
    void (*const made[])(void *, const uint8_t *, size_t) = { %s };
    static const uint8_t bytes[] = { %s };
    if (from < 0 || to < 0) return 1;
    for (uint32_t f = 0; f < sizeof bytes; f++) {
        for (uint32_t i = 0; i < %d; i++) {
            if (io_read(from, pixels, %d * bytes[f]) != %d * (size_t)bytes[f]) return 2;
            made[f](out, pixels, %d * (size_t)bytes[f]);
            if (io_write(to, out, sizeof out) != sizeof out) return 3;
        }
    }
    io_close(to);
    return 0;
}
"""


@pytest.mark.parametrize("name", ["cortex_m4", "cortex_m0plus", "aarch64_linux"])
def test_a_device_gives_pythons_bytes(ready, tmp_path, name):
    target = ready(name)
    data = model_of("imagenet")
    (tmp_path / "m.edge").write_bytes(data)
    fw = tmp_path / "fw"
    built = build(tmp_path / "m.edge", name, fw)
    assert "m_input.c" in built.files
    world = '#include "io.h"' if target.bare_metal else (
        f'#include "{targets.FOLDER / "runner" / "io.h"}"\n'
        f'#include "{targets.FOLDER / "runner" / "io_linux.c"}"'
    )  # fmt: skip
    want = {f: wanted(data, f, pixels_of(f, i)) for i, f in enumerate(FORMATS)}
    size = next(iter(want.values()))[0].nbytes
    names = ", ".join(f"m_input_from_{f}" for f in FORMATS)
    each = ", ".join(str(f.bytes) for f in FORMATS.values())
    (fw / "main.c").write_text(MAIN % (world, H * W, size, names, each, IMAGES, H * W, H * W, W))
    toolchain = ["-DCMAKE_TOOLCHAIN_FILE=toolchain.cmake", f"-DEDGEKIT_TARGET={name}"]
    for command in (["cmake", "-B", "b", *toolchain], ["cmake", "--build", "b"]):
        done = subprocess.run(command, cwd=fw, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    given = b"".join(pixels_of(f, i).tobytes() for i, f in enumerate(FORMATS))
    (fw / "in.bin").write_bytes(given)
    run_app(target, fw, "in.bin", "out.bin")
    assert (fw / "out.bin").read_bytes() == b"".join(a.tobytes() for a in want.values())


def run_app(target, folder, *words):
    """Run the project's program on the target's emulator; what it printed."""
    if target.bare_metal:
        arguments = ",".join(f"arg={w}" for w in ("app", *words))
        command = [target.emulator, "-M", target.machine, *target.emulator_arguments,
                   "-display", "none", "-monitor", "none", "-serial", "none",
                   "-semihosting-config", f"enable=on,target=native,{arguments}",
                   "-kernel", "b/app"]  # fmt: skip
    else:
        command = [target.emulator, "b/app", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300,
                          check=False)  # fmt: skip
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done.stderr


def test_literals_of_c_are_the_numbers_and_names():
    for value in (0.1, 1e-9, 3e38, -2.5, 0.0, 128.0):
        assert np.float32(c_float(value).rstrip("f")) == np.float32(value)
        assert any(c in c_float(value) for c in ".e")
    assert c_string('a"b\\c??/é\n') == '"a\\"b\\\\c\\?\\?/\\303\\251\\012"'
