"""`edgekit run`: a file on samples, outputs as the float model would give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from ..calibration import CalibrationError, InputSpec, load_array, load_arrays, open_samples
from ..calibration.readers.images import IMAGE
from ..calibration.readers.sounds import WAV
from .accuracy.compare import Runner
from .device.session import session_on
from .errors import UserError
from .evaluation.state_samples import begins
from .files import check_writable, npz, read_file, write_atomically
from .ir import Array
from .preprocessing import Record, agreed
from .progress import Progress, silent
from .runtime import MAX_MEMORY, IoInfo, Session
from .runtime.batches import join, split, with_zeros
from .runtime.convert import texts_of


@dataclass(frozen=True)
class OutputSummary:
    """An output over all samples; of strings, `min` and `max` are numbers of `labels`."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    min: float
    max: float
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ran:
    """What `run` did."""

    samples: int
    kernels: str
    output: str | None
    outputs: list[OutputSummary]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def run(
    model: str | Path,
    inputs: Sequence[str],
    output: str | Path | None = None,
    *,
    kernels: str | None = None,
    sequence: int | None = None,
    target: str | None = None,
    cpu: str | None = None,
    settings: Mapping[str, str] | None = None,
    max_memory: int | None = MAX_MEMORY,
    progress: Progress = silent,
) -> Ran:
    """Run `model` on the samples of `inputs` ("FILE.npz" or "NAME=FILE.npy", one per input).

    `output` is an .npz to write, arrays by ONNX name. With `target` the samples run on its emulator
    or accelerator (`cpu` is its -cpu or device, `settings` are the target's own). `max_memory` is
    as for a Session. State starts anew after `sequence` samples. Raises UserError.
    """
    if output is not None:
        check_writable(output, [model, *inputs, *(i.rpartition("=")[2] for i in inputs)])
    session = Session(model, kernels, max_memory, numbers=True)
    arrays = read_inputs(inputs, session.inputs, session.model.preprocessing)
    arrays = dict(session.model.of_raw(arrays))
    session.bind_to(arrays)
    feeds, batch = split(arrays, session.inputs)
    runner: Runner = session
    if target is not None:
        runner = session_on(model, target, feeds, cpu, max_memory, settings, sequence=sequence)
    elif cpu is not None or settings:
        raise UserError(f"--{'set' if cpu is None else 'cpu'} requires --target")
    results: list[dict[str, Array]] = []
    if sequence is not None and not session.model.parsed().memory.persistent_bytes:
        raise UserError(f"--sequence requires a file that keeps state; {model} does not")
    for i, feed in enumerate(feeds, 1):
        if target is None and sequence is not None and begins(i - 1, sequence):
            session.reset()
        results.append(runner.run(feed))
        progress("running", i, len(feeds))
    if batch:
        results = [_whole(r, session) for r in results]
    arrays = {name: join([r[name] for r in results], batch) for name in results[0]}
    labels = {io.name: io.labels for io in session.outputs}
    ranges = {
        n: (float(a.min()), float(a.max())) if a.size else (0.0, 0.0) for n, a in arrays.items()
    }
    for io in session.outputs:
        if io.is_text and io.name in arrays:
            arrays[io.name] = texts_of(io, arrays[io.name])
    if output is not None:
        write_atomically(output, npz(arrays))
    return Ran(
        len(feeds) * max(batch, 1),
        runner.kernels,
        None if output is None else str(output),
        [
            OutputSummary(
                name,
                str(a.dtype),
                a.shape,
                *ranges[name],
                labels[name],
            )
            for name, a in arrays.items()
        ],
    )


def _whole(outputs: Mapping[str, Array], session: Session) -> dict[str, Array]:
    """The outputs of one of several samples: all entries, and the outputs that count them."""
    found, counted = dict(outputs), session.model.counted
    for io in session.outputs:
        if io.name in counted and io.name in outputs:
            count, axis = counted[io.name]
            found[count] = np.array([outputs[io.name].shape[axis]], np.int32)
            found[io.name] = with_zeros(outputs[io.name], io.shape)
    return found


def read_inputs(
    specs: Sequence[str],
    wanted: Sequence[IoInfo],
    made: Mapping[str, Record] | None = None,
) -> dict[str, Array]:
    """Arrays by input name. A bare .npy or picture serves a model with one input.

    Pictures and sounds become what `made` says of the input. Raises UserError.
    """
    arrays: dict[str, Array] = {}
    for spec in specs:
        name, path = _split(spec, wanted)
        if path.suffix.lower() in (*IMAGE.suffixes, *WAV.suffixes) or path.is_dir():
            name = name or (wanted[0].name if len(wanted) == 1 else "")
        if name in (made or {}) and not _holds_arrays(path):
            arrays[name] = _of_files(path, next(io for io in wanted if io.name == name), made)
            continue
        found = _load(path, {io.name for io in wanted})
        if isinstance(found, dict):
            if name:
                raise UserError(f"{path}: an .npz names its arrays; omit '{name}='")
            arrays.update(found)
        elif name:
            arrays[name] = found
        else:
            raise UserError(f"{path}: name the input: NAME={path}")
    missing = [io.name for io in wanted if io.name not in arrays]
    if missing:
        raise UserError(
            f"no array for input '{missing[0]}' in {', '.join(specs)}; "
            f"the model's inputs are: {', '.join(io.name for io in wanted)}"
        )
    return arrays


def _split(spec: str, wanted: Sequence[IoInfo]) -> tuple[str, Path]:
    for io in wanted:  # a name may itself contain '='
        if spec.startswith(f"{io.name}="):
            return io.name, Path(spec.removeprefix(f"{io.name}="))
    if "=" in spec and not Path(spec).exists():
        name = spec.split("=", 1)[0]
        raise UserError(
            f"no input '{name}'; the model's are: {', '.join(io.name for io in wanted)}"
        )
    alone = wanted[0].name if len(wanted) == 1 and spec.endswith(".npy") else ""
    return alone, Path(spec)


def _holds_arrays(path: Path) -> bool:
    return path.suffix.lower() in (".npz", ".npy")


def _of_files(path: Path, io: IoInfo, made: Mapping[str, Record] | None) -> Array:
    """The pictures or sounds of a file or folder as samples of an input."""
    assert made is not None
    how = agreed({io.name: made[io.name]}, None, str(path))
    spec = InputSpec(io.name, io.shape, io.onnx_dtype)
    try:
        feeds = [feed[io.name] for feed in open_samples(path, [spec], how)]
    except CalibrationError as why:
        raise UserError(str(why)) from why
    return feeds[0] if len(feeds) == 1 else np.concatenate(feeds)


def _load(path: Path, names: set[str]) -> Array | dict[str, Array]:
    """The array of an .npy, or those of an .npz that have one of the names."""
    data = read_file(path, "an .npz or .npy with the inputs")
    try:
        if data.startswith(b"\x93NUMPY"):
            return load_array(BytesIO(data), len(data), str(path))
        if data.startswith(b"PK"):
            return load_arrays(BytesIO(data), str(path), names.__contains__)
    except CalibrationError as why:
        raise UserError(str(why)) from why
    kind = next((kind for head, kind in _HEADS if data.startswith(head)), "not an .npz or .npy")
    raise UserError(
        f"{path}: is {kind}; run takes .npz and .npy files, and images or .wav if the model was "
        "quantized for them (--preprocess). Prepare the sample as for calibration, and save it "
        "with numpy.save"
    )


_HEADS = ((b"\x89PNG", "an image"), (b"\xff\xd8", "an image"), (b"RIFF", "a sound"))
