"""The operators of docs/custom-operators.md: numpy, C on this machine and on emulated devices."""

import re

import numpy as np
import pytest

import edgekit
from edgekit import targets
from edgekit.toolkit.device.emulate import Device
from edgekit.toolkit.device.process import find
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.format.schema import OpKind
from edgekit.toolkit.runtime import Session, kernel_tables

from .conftest import EXAMPLES

KINDS = ["float", "int8", "int16"]


def median(x, radius):
    """By the definition, element by element."""
    out, n = np.empty_like(x), x.shape[-1]
    for at in np.ndindex(x.shape):
        window = [x[at[:-1]][min(max(at[-1] + k, 0), n - 1)] for k in range(-radius, radius + 1)]
        out[at] = np.median(window)
    return out


def pcen(x, smooth):
    """One channel after the other, in double precision."""
    out = np.empty(x.shape)
    for c in range(x.shape[-1]):
        mean = float(x[0, 0, c])
        for t in range(x.shape[1]):
            mean += smooth * (float(x[0, t, c]) - mean) if t else 0
            out[0, t, c] = (x[0, t, c] / (1e-6 + mean) ** 0.98 + 2) ** 0.5 - 2**0.5
    return out


def test_the_page_shows_the_examples():
    page = (EXAMPLES.parents[1] / "custom-operators.md").read_text()
    (shown,) = re.findall(r"```python\n(.*?)```", page, re.S)
    source = (EXAMPLES / "median.py").read_text().replace("  # noqa: RUF012", "")
    assert source.partition("\n\n")[2] == shown
    (shown,) = re.findall(r"```c\n(.*?)```", page, re.S)
    for part in shown.split("    ...\n"):
        assert part.strip() in (EXAMPLES / "median.c").read_text()


def test_the_float_file_gives_the_definition(files, feeds):
    for session in (Session(files["float"][0], table) for table in kernel_tables()):
        for feed in feeds:
            found, x = session.run(feed), feed["x"]
            np.testing.assert_array_equal(found["y"], median(np.maximum(median(x, 2), 0), 1))
            np.testing.assert_allclose(found["z"], pcen(np.abs(x), 0.1), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_c_gives_what_python_gave(files, feeds, kind):
    path, by_python = files[kind]
    for feed, wanted in zip(feeds, by_python, strict=True):
        found = Session(path).run(feed)
        np.testing.assert_array_equal(found["y"], wanted["y"])
        np.testing.assert_allclose(found["z"], wanted["z"], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("kind", "dtype"), [("int8", np.int8), ("int16", np.int16)])
def test_integers_run_on_integers_and_select_elements(files, feeds, kind, dtype):
    session = Session(files[kind][0])
    medians = [op for op in session.op_outputs if op.kind == OpKind.Custom and op.name != "z"]
    assert [op.dtype for op in medians] == [dtype, dtype]
    (quantized,) = [
        op.name for op in session.op_outputs if op.kind == OpKind.Dequantize and op.dtype == dtype
    ]
    for feed in feeds:
        seen = {}
        session.run_layers(feed, lambda _, name, held, seen=seen: seen.update({name: held.copy()}))
        np.testing.assert_array_equal(seen["a"], median(seen[quantized], 2))


@pytest.mark.parametrize("name", ["cortex_m4", "aarch64"])
@pytest.mark.parametrize("kind", KINDS[:2])
def test_devices_have_the_hosts_bytes(files, feeds, name, kind):
    target = targets.load(name)
    for program in (target.compiler, target.emulator):
        if not find(program):
            pytest.skip(f"{program} is not installed")
    session = Session(files[kind][0], "ref")
    raw = [session.to_raw(feed) for feed in feeds[:3]]
    with Device(files[kind][0].read_bytes(), target) as device:
        ran = device.run(raw)
    for feed, (y, z) in zip(feeds, ran.outputs, strict=False):
        wanted = session.run_raw(dict(zip(["x"], session.to_raw(feed), strict=True)))
        np.testing.assert_array_equal(y, wanted["y"])
        if z.dtype.kind == "f":
            np.testing.assert_allclose(z, wanted["z"], rtol=1e-5, atol=1e-5)
        else:  # of floats that differ in the last bit, rounded
            assert np.abs(z.astype(int) - wanted["z"]).max() <= 1


def test_attributes_are_a_struct_of_c(files):
    """Of PCEN five floats, of Median a uint32; both behind each other's names."""
    model = read(files["float"][0].read_bytes())
    held = {}
    for op in model.ops:
        if op.kind == OpKind.Custom:
            at, size = int(op.params["attributes"]), int(op.params["attribute_bytes"])
            held[op.name] = model.blob[at : at + size]
    assert np.frombuffer(held["a"], "<u4").tolist() == [2]
    assert np.frombuffer(held["z"], "<f4") == pytest.approx([0.1, 0.98, 2, 0.5, 1e-6])
    scratch = [op.scratch_bytes for op in model.ops if op.name == "z"]
    assert scratch == [4 * 16]


def test_check_compares_with_our_own_float_runtime(files, net):
    report = edgekit.check(files["int8"][0], net, net.with_name("data.npz"))
    assert report.oracle == "edgekit float32"
    assert all(output.sqnr_db > 30 for output in report.outputs)
