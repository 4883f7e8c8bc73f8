"""A board on a serial port: QEMU's UART behind a pty."""

import os
import random
import re
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import edgekit
from edgekit.toolkit.cli.main import cli
from edgekit.toolkit.device.build import build
from edgekit.toolkit.device.link import Board, BoardSession, frames, open_board

from .test_self_test import BREAKS, program

HERE = Path(__file__).parent
WITHIN = 60  # seconds


def test_frames_are_found_again_and_damaged_ones_are_not():
    rng = random.Random(0)
    for n in (0, 1, 2, 240):
        data = bytes(rng.choice((0, 0, 1, 255)) for _ in range(n))
        frame = frames.request(7, frames.READ | 0x80, b"\3" + data)
        assert frame.index(0) == len(frame) - 1
        assert frames.answer(frame[:-1], 7, frames.READ) == (3, data)
        assert frames.answer(frame[:-1], 8, frames.READ) is None
        for at in range(len(frame) - 1):
            bad = bytearray(frame[:-1])
            bad[at] ^= 1 << rng.randrange(8)
            assert frames.answer(bytes(bad), 7, frames.READ) is None
            assert frames.answer(frame[:at] + frame[at + 1 : -1], 7, frames.READ) is None


class Noisy:
    """A stream that drops, doubles and damages bytes, both ways."""

    def __init__(self, stream, every):
        self.stream, self.every, self.rng = stream, every, random.Random(1)

    def noise(self, data):
        out = bytearray()
        for byte in data:
            kind = self.rng.randrange(3 * self.every)
            out += (
                [b"", bytes([byte, byte]), bytes([byte ^ 16])][kind] if kind < 3 else bytes([byte])
            )
        return bytes(out)

    def write(self, data):
        self.stream.write(self.noise(data))

    def read(self, seconds):
        return self.noise(self.stream.read(seconds))

    def close(self):
        self.stream.close()


@contextmanager
def emulated(folder, target):
    """The program of a folder running; the path of its serial port."""
    command = [target.emulator, "-M", target.machine, "-display", "none", "-monitor", "none",
               "-serial", "pty", "-semihosting-config", "enable=on,target=native",
               "-kernel", "b/app"]  # fmt: skip
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as running:
        try:
            said = running.stdout.readline().decode()
            yield re.search(r"/dev/\S+", said)[0]
        finally:
            running.kill()


@pytest.fixture(scope="module")
def firmware(tmp_path_factory, model_file):
    """The folder of sources of a program that answers, the file and its samples."""
    folder = tmp_path_factory.mktemp("board")
    path, samples = model_file("digits")
    build(path, "cortex_m4", folder / "fw", sources=True, name="digits")
    (folder / "fw" / "main.c").write_text((HERE / "board" / "main.c").read_text())
    return folder / "fw", path, samples


def test_a_board_answers_over_a_line_that_damages_bytes(ready, firmware, digits, tmp_path):
    target, (folder, path, samples) = ready("cortex_m4"), firmware
    program(folder, "cortex_m4")
    with emulated(folder, target) as port:
        name = f"serial:{port}"
        command = ["check", str(path), "--float", str(digits / "digits.onnx"),
                   "--data", str(digits / "eval.npz"), "--limit", "3",
                   "--target", name]  # fmt: skip
        done = CliRunner().invoke(cli, command)
        assert done.exit_code == 0, done.output
        done = CliRunner().invoke(cli, ["bench", str(path), "--target", f"{name}@9600", "--json"])
        assert done.exit_code == 0 and '"cycles": 7' in done.output, done.output
        with open_board(name) as plain:
            board = Board(Noisy(plain._stream, 150), name, patience=30)
            session, host = BoardSession(path, board), edgekit.Session(path)
            for sample in samples[:2]:
                found, expected = session.run(sample), host.run(sample)
                assert all(np.array_equal(found[k], expected[k]) for k in expected)
            assert board.repeats > 2
        other = tmp_path / "other.edge"
        edgekit.convert(digits / "digits.onnx", other)
        with open_board(name) as board, pytest.raises(edgekit.UserError, match="another model"):
            BoardSession(other, board)


def test_a_wrong_kernel_is_named_with_its_first_wrong_element(ready, firmware):
    target, (folder, path, samples) = ready("cortex_m4"), firmware
    operator, file, right, wrong = BREAKS[0]
    source = folder / "src" / file
    before = source.read_text()
    source.write_text(before.replace(right, wrong))
    program(folder, "cortex_m4")
    source.write_text(before)
    started = time.monotonic()
    with (
        emulated(folder, target) as port,
        open_board(f"serial:{port}") as board,
        pytest.raises(edgekit.UserError) as caught,
    ):
        BoardSession(path, board).run(samples[0])
    assert time.monotonic() - started < WITHIN
    told = re.search(r"'(\w+)'\) is the first .* element (\d+) .* is (-?\d+) instead of (-?\d+)",
                     str(caught.value))  # fmt: skip
    assert told[1] == operator and told[3] != told[4]


def test_a_silent_board_and_a_wrong_port_are_told(tmp_path):
    main, port = os.openpty()
    try:
        with pytest.raises(edgekit.UserError, match="no answer in 0 s; does the firmware call"):
            Board(open_stream(os.ttyname(port)), "serial:x", patience=0.1)
    finally:
        os.close(main)
        os.close(port)
    for name, why in (
        ("/dev/none", "cannot be opened"),
        (f"{tmp_path}/f@fast", "not a baud rate"),
        (f"{tmp_path}/f@17", "not supported by this system"),
        (f"{tmp_path}/f", "not a serial"),
    ):
        (tmp_path / "f").write_text("")
        with pytest.raises(edgekit.UserError, match=why):
            open_board(f"serial:{name}")


def open_stream(path):
    from edgekit.toolkit.device.link.streams import serial_port

    return serial_port(path)
