"""Outputs: all or nothing, never over an input, and into what is no ordinary file."""

import contextlib
import os
import threading
from io import BytesIO

import numpy as np
import pytest

from edgekit.toolkit.errors import UserError
from edgekit.toolkit.files import check_writable, npz, read_file, write_atomically


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


def test_a_file_may_be_read_by_those_who_may_read_others(tmp_path):
    old = os.umask(0o027)
    try:
        write_atomically(tmp_path / "out.edge", b"data")
    finally:
        os.umask(old)
    assert (tmp_path / "out.edge").stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs /dev/zero")
def test_a_device_without_end_is_not_read():
    with pytest.raises(UserError, match="/dev/zero: is a device, not a file; give a model"):
        read_file("/dev/zero", "a model")


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    path = tmp_path / "large"
    path.write_bytes(bytes(10))
    assert read_file(path, "a model", 10) == bytes(10)
    with pytest.raises(UserError, match="large: is larger than 9 bytes; give a model"):
        read_file(path, "a model", 9)
    with path.open("r+b") as sparse:
        sparse.truncate(1 << 40)
    with pytest.raises(UserError, match="larger than 2,147,483,648 bytes"):
        read_file(path, "a model")


def test_a_pipe_is_read_up_to_the_limit(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write(count):
        with contextlib.suppress(BrokenPipeError):
            pipe.write_bytes(bytes(count))

    for count in (100, 1 << 20):
        writer = threading.Thread(target=write, args=[count])
        writer.start()
        if count == 100:
            assert read_file(pipe, "a model", 100) == bytes(100)
        else:
            with pytest.raises(UserError, match="larger than 100 bytes"):
                read_file(pipe, "a model", 100)
        writer.join(10)
        assert not writer.is_alive()
