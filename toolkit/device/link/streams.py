"""A serial port as a stream of bytes, by the POSIX terminal interface."""

from __future__ import annotations

import os
import select
from typing import Protocol

from ...errors import UserError

BAUD = 115200


class Stream(Protocol):
    """Both ways; `read` gives what is there, nothing after `seconds`."""

    def write(self, data: bytes) -> None: ...

    def read(self, seconds: float) -> bytes: ...

    def close(self) -> None: ...


class Descriptors:
    """A pair of open files, which may be one."""

    def __init__(self, read: int, write: int) -> None:
        self._in, self._out = read, write

    def write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._out, data) :]

    def read(self, seconds: float) -> bytes:
        ready, _, _ = select.select([self._in], [], [], seconds)
        return os.read(self._in, 4096) if ready else b""

    def close(self) -> None:
        for fd in {self._in, self._out}:
            os.close(fd)


def serial_port(place: str) -> Stream:
    """The port PATH or PATH@BAUD, raw, 8 bits, no parity. Raises UserError."""
    path, _, rate = place.partition("@")
    if rate and not rate.isdigit():
        raise UserError(f"serial:{place}: '{rate}' is not a baud rate; write serial:{path}@{BAUD}")
    try:
        import termios
        import tty
    except ImportError as why:
        raise UserError("serial ports are supported on Linux and macOS only") from why
    speed = getattr(termios, f"B{rate or BAUD}", None)
    if speed is None:
        raise UserError(f"serial:{place}: {rate} baud is not supported by this system")
    try:
        fd = os.open(path, os.O_RDWR | os.O_NOCTTY)
    except OSError as why:
        raise UserError(f"serial:{place}: {path} cannot be opened: {why.strerror}") from why
    try:
        tty.setraw(fd)
        settings = termios.tcgetattr(fd)
        settings[2] |= termios.CLOCAL | termios.CREAD
        settings[4] = settings[5] = speed
        termios.tcsetattr(fd, termios.TCSANOW, settings)
        termios.tcflush(fd, termios.TCIOFLUSH)
    except termios.error as why:
        os.close(fd)
        raise UserError(f"serial:{place}: {path} is not a serial port") from why
    return Descriptors(fd, fd)
