"""ek_output_labels and ek_label: the names that a device looks up, whatever the file holds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from edgekit.runtime_c._ffi import ffi, lib
from edgekit.toolkit.format.writer import write
from edgekit.toolkit.runtime import Model

from .conftest import CASES

LABELS = ("setosa", "", "virginica", "häuser")


@pytest.fixture
def labelled(corpus):
    model = corpus.one_operator(CASES["arg_max_s8"])
    outputs = [replace(model.outputs[0], labels=LABELS)]
    inputs = [replace(model.inputs[0], labels=("x",))]
    return Model(write(replace(model, outputs=outputs, inputs=inputs)))


def test_labels_are_found_by_their_number(labelled):
    size = ffi.new("uint32_t *")
    at = lib.ek_output_labels(labelled.handle, 0, size)
    found = [ffi.string(lib.ek_label(at, size[0], i)).decode() for i in range(len(LABELS))]
    assert tuple(found) == LABELS == labelled.outputs[0].labels
    assert lib.ek_label(at, size[0], len(LABELS)) == ffi.NULL
    assert lib.ek_label(at, size[0], 2**32 - 1) == ffi.NULL
    assert ffi.string(lib.ek_label(lib.ek_input_labels(labelled.handle, 0, size), 2, 0)) == b"x"


def test_without_labels_there_are_none(corpus, labelled):
    size = ffi.new("uint32_t *", 7)
    plain = Model(write(corpus.one_operator(CASES["arg_max_s8"])))
    for asked in ((plain.handle, 0), (labelled.handle, 1), (ffi.NULL, 0)):
        assert lib.ek_output_labels(*asked, size) == ffi.NULL
        assert lib.ek_label(ffi.NULL, 0, 0) == ffi.NULL


def test_labels_that_do_not_end_are_none(labelled):
    data = labelled.data.tobytes().replace("häuser\0".encode(), "häuser!".encode())
    assert data != labelled.data.tobytes()
    size = ffi.new("uint32_t *")
    opened = Model(data, checksum=False)
    assert lib.ek_output_labels(opened.handle, 0, size) == ffi.NULL and size[0] == 0
