"""Runs a model: takes and returns arrays as the ONNX model does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...runtime_c._ffi import ffi, lib
from ..errors import CustomOperatorError, UserError
from ..ir import Array, Shape
from .batches import Feed, join, only, split
from .binding import Binding
from .convert import row_of, texts_of, to_user, write_input
from .kernels import name_of, table
from .model import IoInfo, Model, OpOutput, aligned, words
from .operators import taken_fault

MAX_MEMORY = 1 << 30
"""Default memory limit of a session: a file of 2 KiB can require 4 GiB."""


class Turn:
    """A lock for one thread at a time, as a context manager; RuntimeError if it is nested."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._taken = False

    def __enter__(self) -> None:
        self._lock.acquire()
        if self._taken:  # by this thread, else the lock would have waited
            self._lock.release()
            raise RuntimeError(
                "the callback used the session that is running; use another Session in the callback"
            )
        self._taken = True

    def __exit__(self, *exception: object) -> None:
        self._taken = False
        self._lock.release()


class Session:
    """A model with memory to run in. Threads may share a session; runs are serialized.

    To run threads concurrently, create a Session for each from one shared Model; the C code runs
    without the GIL. The callback of `run_layers` must not use the session (RuntimeError).

    source      a path, the bytes of a file, or a Model to share
    kernels     a table of `kernel_tables()`; None: the best one for this CPU
    max_memory  limit in bytes for activations, state and packed weights; None: no limit
    numbers     return the label numbers of string outputs instead of strings

    Raises UserError for an invalid file or kernel table, and for a model that needs more memory.
    """

    def __init__(
        self,
        source: str | Path | bytes | Model,
        kernels: str | None = None,
        max_memory: int | None = MAX_MEMORY,
        numbers: bool = False,
    ) -> None:
        self._numbers = numbers
        self.model = source if isinstance(source, Model) else Model(source)
        self._table = chosen = table(kernels)
        needed = ffi.new("size_t *")
        self._must(lib.ek_session_size(self.model.handle, chosen, needed))
        self.memory_bytes = int(needed[0])
        self.kernels = name_of(chosen)
        self._memory = self._allocate(max_memory)
        handle = ffi.new("ek_session **")
        memory = ffi.cast("void *", self._memory.ctypes.data)
        self._must(
            lib.ek_session_init(handle, memory, self.memory_bytes, self.model.handle, chosen)
        )
        self._session = handle[0]
        self._turn = Turn()
        self._binding = Binding(self.model) if self.model.symbols else None
        self._look()

    def _look(self) -> None:
        self._inputs = self._views(self.inputs, lib.ek_session_input)
        self._outputs = self._views(self.outputs, lib.ek_session_output)
        self._shown: dict[int, tuple[str, Array]] = {}

    def _allocate(self, most: int | None) -> NDArray[np.uint8]:
        needed = f"{self.model.source}: needs {_size(self.memory_bytes)} of memory to run"
        if most is not None and self.memory_bytes > most:
            enough = -(-self.memory_bytes >> 20)
            raise UserError(
                f"{needed}; the limit is {_size(most)}. If you trust the file, raise max_memory "
                f"(edgekit run, check: --max-memory {enough}M)"
            )
        try:
            return aligned(self.memory_bytes)
        except MemoryError as why:
            raise UserError(f"{needed}, which is not available") from why

    @property
    def inputs(self) -> tuple[IoInfo, ...]:
        """Inputs; with variable dimensions, at the current sizes."""
        return self._described.inputs

    @property
    def outputs(self) -> tuple[IoInfo, ...]:
        return self._described.outputs

    @property
    def op_outputs(self) -> list[OpOutput]:
        """The operators' outputs for `run_layers`, in order of execution."""
        return self._described.op_outputs

    @property
    def _described(self) -> Model:
        return self.model if self._binding is None else self._binding.described

    @property
    def sizes(self) -> dict[str, int]:
        """The current size of each variable dimension; initially the largest."""
        return {} if self._binding is None else self._binding.sizes

    def bind(self, sizes: Sequence[int] | Mapping[str, int]) -> None:
        """Set the sizes of the variable dimensions, by name or in the order of `sizes`.

        `run` etc. set them from the shapes of their inputs. Raises UserError for a size that the
        model does not support.
        """
        with self._turn:
            self._bind(sizes)

    def bind_to(self, feed: Feed | Array) -> None:
        """Set the variable dimensions to the shapes of a feed, if there are any."""
        with self._turn:
            self._shaped(feed)

    def _bind(self, sizes: Sequence[int] | Mapping[str, int]) -> None:
        if self._binding is None:
            raise UserError(f"{self.model.source}: it has no variable dimensions")
        if self._binding.bind(self._session, sizes):
            self._look()

    def _shaped(self, feed: Feed | Array) -> Feed | Array:
        """The feed, whose shapes are now the session's."""
        if self._binding is not None:
            self._bind(self._binding.sizes_of(feed))
        return feed

    def run(self, feed: Feed | Array) -> dict[str, Array]:
        """Outputs by ONNX name, in ONNX element type and shape.

        `feed` has an array for every input, in its ONNX shape and type; for a model with one input,
        the array alone is accepted. Arrays of the file's type (int8 or int16) for a float input are
        taken as quantized. A batch axis of 1 may be omitted; N samples along the first axis give
        outputs for N samples. If the file stores preprocessing, float inputs also accept pixels,
        uint8 [H, W, 3] or [N, H, W, 3] (gray [H, W]), or sound, int16 [samples] or [N, samples].
        Outputs of data-dependent length have their actual length; for several samples they have
        the maximum length, and the outputs with the counts are included. Raises UserError for
        inputs that do not fit.
        """
        return self._in_use(self._run(feed, lambda: [self._told(*pair) for pair in self._pairs()]))

    def run_raw(self, feed: Feed | Array) -> dict[str, Array]:
        """As `run`, but quantized outputs are returned as integers."""
        return self._run(feed, lambda: [io.as_onnx(v).copy() for io, v in self._pairs()])

    def run_layers(
        self, feed: Feed | Array, callback: Callable[[int, str, Array], None]
    ) -> dict[str, Array]:
        """As `run` for a single run, calling `callback(index, name, array)` after each operator,
        except for those inside of branches and loops.

        The array is the first output of operator `index`, described by `op_outputs[index]`. It is a
        view that is valid during the call only. The callback must not use this session.
        """
        with self._turn:
            feed = self._shaped(self.model.of_raw(self._with_elements(feed)))
            self._write(only(feed, self.inputs))
            self._show_steps(callback)
            found = {io.name: self._told(io, view) for io, view in self._pairs()}
            return self._in_use(self._with_empty(found))

    def run_raw_layers(
        self, raw: Sequence[Array], callback: Callable[[int, str, Array], None]
    ) -> list[Array]:
        """As `run_layers`, with inputs from `to_raw`; returns outputs for `from_raw`."""
        with self._turn:
            for view, array in zip(self._inputs, raw, strict=True):
                view[...] = array
            self._show_steps(callback)
            return [view.copy() for view in self._outputs]

    def _show_steps(self, callback: Callable[[int, str, Array], None]) -> None:
        known = self._shown  # outputs of operators lie where they lay, until sizes are bound
        always = self.model.always_run

        def show(i: int) -> None:
            if i not in always:
                return
            if i not in known:
                known[i] = self._op_view(i)
            callback(i, *known[i])

        self._steps(show)

    def _op_view(self, i: int) -> tuple[str, Array]:
        """Name and array of operator `i`'s first output."""
        data, nbytes = ffi.new("void const **"), ffi.new("uint32_t *")
        self._must(lib.ek_session_op_output(self._session, i, 0, data, nbytes))
        out = self.op_outputs[i]
        view = self._view(data[0], nbytes[0], out.dtype, out.shape)
        view.flags.writeable = False
        return out.name, view

    def to_raw(self, feed: Feed | Array) -> list[Array]:
        """The inputs of a single run in the runtime's types, in order. Errors as for `run`."""
        with self._turn:
            feed = self._shaped(self.model.of_raw(self._with_elements(feed)))
            self._write(only(feed, self.inputs))
            return [v.copy() for v in self._inputs]

    def from_raw(self, outputs: Sequence[Array]) -> dict[str, Array]:
        """The result of `run` from outputs in the runtime's types, in order."""
        found = {io.name: self._told(io, v) for io, v in zip(self.outputs, outputs, strict=True)}
        return self._in_use(self._with_empty(found))

    def profile(self, feed: Feed | Array) -> list[float]:
        """Seconds spent in each operator of a single run, in order; the sum for operators that run
        more than once.

        Measuring takes about 1e-6 s per operator.
        """
        spent = [0.0] * len(self.op_outputs)
        marks = [0.0]

        def mark(i: int) -> None:
            marks.append(perf_counter())
            spent[i] += marks[-1] - marks[-2]

        with self._turn:
            feed = self._shaped(self.model.of_raw(self._with_elements(feed)))
            self._write(only(feed, self.inputs))
            marks[0] = perf_counter()
            self._steps(mark)
        return spent

    def reset(self) -> None:
        """Reset the state that is kept between runs."""
        with self._turn:
            self._must(lib.ek_session_reset(self._session))

    def _run(self, feed: Feed | Array, read: Callable[[], list[Array]]) -> dict[str, Array]:
        """What `read` gives of the outputs after each run of the feed, joined, by name."""
        found = []
        with self._turn:
            feed = self._shaped(self.model.of_raw(self._with_elements(feed)))
            feeds, batch = split(feed, self.inputs)
            for part in feeds:
                self._write(part)
                self._execute()
                found.append(read())
        columns = zip(self.outputs, zip(*found, strict=True), strict=True)
        return self._with_empty({io.name: join(column, batch) for io, column in columns})

    def _in_use(self, found: dict[str, Array]) -> dict[str, Array]:
        if not self.model.counted:
            return found
        counts = {count for count, _ in self.model.counted.values()}
        if any(found[count].size > 1 for count in counts):
            return found
        for name, (count, axis) in self.model.counted.items():
            many = int(found[count].ravel()[0])
            found[name] = np.take(found[name], range(many), axis)
        return {name: a for name, a in found.items() if name not in counts}

    def _with_elements(self, feed: Feed | Array) -> Feed | Array:
        """The feed without the inputs that the runtime ignores, whose shapes hold no elements."""
        if not isinstance(feed, Mapping):
            return feed
        feed = dict(feed)  # each array is read once where they lie in a file
        if not self.model.empty_inputs and not any(isinstance(a, Mapping) for a in feed.values()):
            return feed
        for name, empty in self.model.empty_inputs.items():
            if name in feed and np.shape(feed[name]) != empty.shape:
                raise UserError(
                    f"input '{name}': shape {list(np.shape(feed[name]))}; give {list(empty.shape)}"
                )
        ios = {io.name: io for io in self.inputs}
        return {
            name: row_of(ios[name], a) if isinstance(a, Mapping) and name in ios else a
            for name, a in feed.items()
            if name not in self.model.empty_inputs
        }

    def _with_empty(self, found: dict[str, Array]) -> dict[str, Array]:
        if not self.model.empty_outputs:
            return found
        return found | {name: a.copy() for name, a in self.model.empty_outputs.items()}

    def _execute(self) -> None:
        self._must(lib.ek_run(self._session))

    def _steps(self, after: Callable[[int], None]) -> None:
        left = ffi.new("uint32_t *")
        at, count = 0, len(self.op_outputs)
        while at < count:
            self._must(lib.ek_step(self._session, 1, left))
            try:
                after(at)
            except BaseException:
                # Finish, else the next run would begin in the middle of this one.
                while left[0] and lib.ek_step(self._session, left[0], left) == lib.EK_OK:
                    pass
                raise
            at = count - left[0]

    def _told(self, io: IoInfo, raw: Array) -> Array:
        raw = io.as_onnx(raw)
        if io.is_text and not self._numbers:
            return texts_of(io, raw)
        return to_user(io, raw)

    def _pairs(self) -> Iterable[tuple[IoInfo, Array]]:
        return zip(self.outputs, self._outputs, strict=True)

    def _write(self, feed: dict[str, Array]) -> None:
        for io, view in zip(self.inputs, self._inputs, strict=True):
            write_input(io, view, io.as_held(feed[io.name]), self._table)

    def _views(self, ios: tuple[IoInfo, ...], get: Any) -> list[Array]:
        io = ffi.new("ek_io *")
        views: list[Array] = []
        for i, info in enumerate(ios):
            self._must(get(self._session, i, io))
            views.append(self._view(io.data, io.bytes, info.dtype, info.held_shape))
        return views

    def _view(self, data: Any, nbytes: int, dtype: np.dtype[Any], shape: Shape) -> Array:
        """The array at `data`, which keeps the memory it lies in alive."""
        address = int(ffi.cast("uintptr_t", data))
        start = address - self._memory.ctypes.data
        home = self._memory
        if not 0 <= start < home.nbytes:
            home = self.model.data
            start = address - home.ctypes.data
        return home[start : start + nbytes].view(dtype).reshape(shape)

    def _must(self, status: int) -> None:
        if status == lib.EK_OK:
            return
        fault = taken_fault()
        if fault is not None and not isinstance(fault, CustomOperatorError):
            raise fault
        raise fault or UserError(f"{self.model.source}: {words(status)}")


def _size(n: int) -> str:
    for unit, bits in (("GiB", 30), ("MiB", 20)):
        if n >> bits:
            return f"{n / (1 << bits):.1f} {unit}"
    return f"{n / 1024:.1f} KiB"
