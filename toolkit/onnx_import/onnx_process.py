"""onnx, asked in a process of its own: the only place that runs its C++ and its evaluator.

One child serves all models of this process, and is replaced when a model has brought it down.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from google.protobuf.message import EncodeError

from ..errors import UserError
from ..ir import Array
from .limits import CHILD_BYTES, CHILD_SECONDS, FOLDED_BYTES, FOLDED_RATIO, MIB, WEIGHT_BYTES

_WORDS = {
    "check": "the checker of onnx",
    "infer": "the shape inference of onnx",
    "inline": "the function inliner of onnx",
    "fold": "the evaluation of constants by onnx",
}


class OnnxError(Exception):
    """What onnx raised: `kind` is the name of its exception."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class FoldedTooLarge(Exception):  # noqa: N818 - a verdict, not a fault
    """A folded constant that leaves the limit of its model, in bytes."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(size, limit)
        self.size, self.limit = size, limit


class Onnx:
    """onnx for one model, called `label` in errors, of `size` bytes.

    Each method raises OnnxError for what onnx raises, and UserError when its process died, or took
    more time or memory than the limits allow.
    """

    def __init__(self, label: str, size: int = 0) -> None:
        self._label = label
        self._until: float | None = None
        self._seconds = CHILD_SECONDS
        self._fold_limit = max(FOLDED_BYTES, FOLDED_RATIO * size)

    def check(self, model: onnx.ModelProto) -> None:
        self._ask("check", {}, [self._bytes(model)])

    def infer_shapes(self, model: onnx.ModelProto, *, strict: bool = False) -> onnx.ModelProto:
        return self._model("infer", {"strict": strict}, model)

    def inline(
        self, model: onnx.ModelProto, op: str | None = None, domain: str = ""
    ) -> onnx.ModelProto:
        """`model` without its own functions, or without the operator `op`, which is a function."""
        return self._model("inline", {"op": op, "domain": domain}, model)

    def fold(self, model: onnx.ModelProto, inputs: Sequence[Array]) -> list[Array]:
        """The outputs of `model`. Raises FoldedTooLarge, by the sum over all calls."""
        header = {
            "arrays": [(a.dtype.name, a.shape) for a in inputs],
            "limit": self._fold_limit,
            "what": f"{model.graph.node[0].op_type} '{model.graph.node[0].name}'",
        }
        data = [np.ascontiguousarray(a).tobytes() for a in inputs]
        reply, parts = self._ask("fold", header, [self._bytes(model), *data])
        if "folded" in reply:
            raise FoldedTooLarge(reply["folded"], self._fold_limit)
        self._fold_limit -= sum(map(len, parts))
        return [
            np.frombuffer(part, _dtype(kind)).reshape(shape)
            for (kind, shape), part in zip(reply["arrays"], parts, strict=True)
        ]

    def _model(self, task: str, header: dict[str, Any], model: onnx.ModelProto) -> onnx.ModelProto:
        _, (data,) = self._ask(task, header, [self._bytes(model)])
        found = onnx.ModelProto()
        found.ParseFromString(data)
        return found

    def _bytes(self, model: onnx.ModelProto) -> bytes:
        try:
            return bytes(model.SerializeToString())
        except EncodeError as why:
            raise UserError(
                f"{self._label}: its nodes and constants take more than 2 GiB; export the weights "
                "as initializers with external data"
            ) from why

    def _ask(
        self, task: str, header: dict[str, Any], parts: Sequence[bytes]
    ) -> tuple[dict[str, Any], list[bytes]]:
        header = {"task": task, "memory": CHILD_BYTES, **header}
        try:
            reply, found, took = _shared.ask(header, parts, self._seconds)
        except _Death as why:
            what = _WORDS[task] + (f", at {header['what']}," if "what" in header else "")
            raise UserError(
                f"{self._label}: {what} {why}; check the model with onnx.checker and simplify or "
                "export it again"
            ) from None
        self._seconds = max(0.1, self._seconds - took)
        if "error" in reply:
            raise OnnxError(reply["error"], reply["text"])
        return reply, found


class _Death(Exception):  # noqa: N818 - an event
    """The child is gone; the text says how, behind its subject."""


class _Child:
    """The process, started when it is first asked."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None
        self._owner = 0

    def ask(
        self, header: dict[str, Any], parts: Sequence[bytes], seconds: float
    ) -> tuple[dict[str, Any], list[bytes], float]:
        """(the reply, its parts, seconds). Raises _Death."""
        with self._lock:
            pipe = self._started()
            begun = monotonic()
            header = header | {"parts": len(parts), "seconds": seconds}
            try:
                pipe.send_bytes(json.dumps(header).encode())
                for part in parts:
                    pipe.send_bytes(part)
                if not pipe.poll(seconds):
                    raise _Death(f"took more than {CHILD_SECONDS:.0f} s")
                reply = json.loads(pipe.recv_bytes(MIB))
                found = [pipe.recv_bytes(WEIGHT_BYTES) for _ in range(reply["parts"])]
            except (EOFError, OSError):
                raise _Death(self._ended()) from None
            except BaseException:  # Ctrl-C too: an answer may be half read
                self.stop()
                raise
            if reply.get("error") == "MemoryError":
                self.stop()
                raise _Death(_TOO_MUCH)
            return reply, found, monotonic() - begun

    def _started(self) -> Connection:
        if self._pipe is not None and self._owner == os.getpid():
            return self._pipe
        mine, theirs = Pipe()
        script = str(Path(__file__).with_name("onnx_child.py"))
        # One thread: the others' stacks would count as memory, and the work is small.
        single = {name: "1" for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")}
        self._process = subprocess.Popen(
            [sys.executable, "-X", "utf8", script, str(theirs.fileno()), json.dumps(sys.path)],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **single},
        )
        theirs.close()
        self._pipe, self._owner = mine, os.getpid()
        return mine

    def _ended(self) -> str:
        """How the child died."""
        code = 0
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                code = self._process.wait(5)
        self.stop()
        if code == -signal.SIGXCPU:
            return f"took more than {CHILD_SECONDS:.0f} s"
        if code == -signal.SIGKILL:
            return _TOO_MUCH
        return f"crashed ({signal.Signals(-code).name})" if code < 0 else f"ended with {code}"

    def stop(self) -> None:
        """End the child; the next question starts another."""
        process, pipe = self._process, self._pipe
        self._process = self._pipe = None
        if pipe is not None:
            pipe.close()
        if process is not None and self._owner == os.getpid():
            process.kill()
            process.wait()


_TOO_MUCH = f"needed more than {CHILD_BYTES >> 30} GiB of memory"
_shared = _Child()
atexit.register(_shared.stop)


def _dtype(kind: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, kind, None) or kind)
