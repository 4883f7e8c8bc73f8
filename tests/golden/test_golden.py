"""The compatibility promise: files of the past load, and answer what they always answered."""

import gzip
from pathlib import Path

import numpy as np
import pytest

import edgekit
from edgekit.toolkit.format.model import FORMAT_VERSION
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.format.schema import FORMS, WeightCodec
from edgekit.toolkit.runtime import Model, Session, kernel_tables

HERE = Path(__file__).parent
FILES = sorted((HERE / "answers").rglob("*.npz"))
LIMIT = 200_000

edgekit.register_op(HERE.parent / "fuzz" / "custom_op.c")


def file_of(recorded):
    """The bytes of the model whose answers are in `recorded`."""
    name = recorded.relative_to(HERE / "answers").with_suffix(".edge.gz")
    return gzip.decompress((HERE / "models" / name).read_bytes())


@pytest.fixture(params=FILES, ids=lambda p: p.stem)
def golden(request):
    """A file's bytes, and the arrays recorded of it."""
    with np.load(request.param) as recorded:
        return file_of(request.param), dict(recorded)


def split(ios, data):
    """One array for each input or output, of the bytes of all."""
    ends = np.cumsum([np.dtype(io.dtype).itemsize * int(np.prod(io.shape)) for io in ios])
    assert ends[-1] == len(data)
    parts = zip(ios, np.split(data, ends[:-1]), strict=True)
    return {io.name: part.copy().view(io.dtype).reshape(io.shape) for io, part in parts}


def signature(ios):
    return [f"{io.name} {np.dtype(io.dtype)} {list(io.shape)}" for io in ios]


def test_the_corpus_is_there():
    assert {p.stem for p in FILES} >= {"digits_int8", "digits_float", "digits_4bit", "mixed"}
    assert sum(p.stat().st_size for p in HERE.rglob("*.[ng]*z")) < LIMIT


def test_every_kind_of_operator_is_in_the_corpus():
    """What is new in the schema is recorded too: python tests/golden/record.py."""
    held = set()
    for model in (read(file_of(path)) for path in FILES):
        held |= {op.body(model.tensors) for op in model.ops}
        held |= {op.codec for op in model.ops}
    assert held == {*FORMS, *WeightCodec}


def test_it_loads(golden):
    data, _ = golden
    Model(data)
    assert read(data).version <= FORMAT_VERSION


@pytest.mark.parametrize("kernels", kernel_tables())
def test_it_answers_the_same(golden, kernels):
    data, recorded = golden
    session = Session(data, kernels)
    assert signature(session.inputs) == recorded["inputs"].tolist()
    assert signature(session.outputs) == recorded["outputs"].tolist()
    for given, answered in zip(recorded["given"], recorded["answered"], strict=True):
        found = session.run_raw(split(session.inputs, given))
        for name, wanted in split(session.outputs, answered).items():
            if wanted.dtype.kind == "f":
                finite = np.abs(wanted[np.isfinite(wanted)])
                atol = 1e-4 * float(finite.max(initial=0))
                np.testing.assert_allclose(found[name], wanted, rtol=0, atol=atol, err_msg=name)
            else:
                np.testing.assert_array_equal(found[name], wanted, err_msg=name)
