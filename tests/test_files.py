"""Outputs: all or nothing, never over an input, and into what is no ordinary file."""

import os
import threading
from io import BytesIO

import numpy as np
import pytest

from edgekit.toolkit.errors import UserError
from edgekit.toolkit.files import check_writable, npz, write_atomically


def test_a_link_is_followed(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "real")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "folder" / "real").read_bytes() == b"new"


def test_a_pipe_stays_one(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    check_writable(pipe)
    write_atomically(pipe, b"data")
    reader.join(10)
    assert got == [b"data"]
    assert pipe.is_fifo()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_device_is_an_error_of_the_user(tmp_path):
    link = tmp_path / "out.edge"
    link.symlink_to("/dev/full")
    with pytest.raises(UserError, match="No space left"):
        write_atomically(link, b"data")
    assert os.path.exists("/dev/full") and not os.path.isfile("/dev/full")


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="needs /dev/fd")
def test_a_descriptor_is_written_into():
    """So is /dev/stdout, where it is a pipe."""
    reader, writer = os.pipe()
    write_atomically(f"/dev/fd/{writer}", b"data")
    assert os.read(reader, 100) == b"data"
    os.close(reader)
    os.close(writer)


def test_an_interrupt_leaves_nothing(tmp_path, monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "out.edge", b"data")
    assert not list(tmp_path.iterdir())


def test_what_is_read_is_not_written(tmp_path):
    (tmp_path / "in.onnx").write_bytes(b"model")
    (tmp_path / "link").symlink_to("in.onnx")
    for name in ("in.onnx", "link", "../" + tmp_path.name + "/in.onnx"):
        with pytest.raises(UserError, match="overwritten"):
            check_writable(tmp_path / name, [tmp_path / "in.onnx"])
    check_writable(tmp_path / "other", [tmp_path / "in.onnx"])


def test_an_npz_holds_any_names():
    names = ["file", "allow_pickle", "a/b:0", "c/../d", "ü ☃"]
    data = npz({name: np.arange(i) for i, name in enumerate(names)})
    assert data == npz({name: np.arange(i) for i, name in enumerate(names)})
    found = np.load(BytesIO(data))
    assert list(found) == names
    assert all(len(found[name]) == i for i, name in enumerate(names))
