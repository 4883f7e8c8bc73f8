"""The compatibility promise: files of the past load, and answer what they always answered."""

from pathlib import Path

import numpy as np
import pytest

from edgekit.toolkit.format.reader import read
from edgekit.toolkit.runtime import Model, Session, kernel_tables

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*.edge"))
LIMIT = 60_000


@pytest.fixture(params=FILES, ids=lambda p: p.stem)
def golden(request):
    """A file's path, and the arrays recorded of it."""
    with np.load(request.param.with_suffix(".npz")) as recorded:
        return request.param, dict(recorded)


def sample(recorded, i, which):
    start = f"{which}{i}/"
    return {k.removeprefix(start): a for k, a in recorded.items() if k.startswith(start)}


def test_the_corpus_is_there():
    assert {p.stem for p in FILES} >= {"digits_int8", "digits_float", "digits_4bit", "mixed"}
    assert sum(p.stat().st_size for p in HERE.glob("*.*")) < LIMIT


def test_it_loads(golden):
    path, _ = golden
    Model(path)
    assert read(path.read_bytes(), str(path)).version == 2


@pytest.mark.parametrize("kernels", kernel_tables())
def test_it_answers_the_same(golden, kernels):
    path, recorded = golden
    session = Session(path, kernels)
    runs = sum(k.startswith("in") and k.endswith(session.inputs[0].name) for k in recorded)
    assert runs
    for i in range(runs):
        wanted = sample(recorded, i, "out")
        found = session.run_raw(sample(recorded, i, "in"))
        assert found.keys() == wanted.keys()
        for name, array in found.items():
            assert array.dtype == wanted[name].dtype, name
            if array.dtype.kind == "f":
                atol = 1e-4 * float(np.abs(wanted[name]).max())
                np.testing.assert_allclose(array, wanted[name], rtol=0, atol=atol, err_msg=name)
            else:
                np.testing.assert_array_equal(array, wanted[name], err_msg=name)
