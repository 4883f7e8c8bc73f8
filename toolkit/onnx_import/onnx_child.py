"""The process that runs onnx on models of unknown origin: started by onnx_process, by its path.

It imports nothing of edgekit. onnx is C++ and numpy that may abort, hang or eat memory on a damaged
model; here that costs nothing but this process.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, FileFinder
from importlib.util import find_spec, module_from_spec
from multiprocessing.connection import Connection
from typing import Any

Reply = tuple[dict[str, Any], list[bytes]]


def _check(_: dict[str, Any], parts: Sequence[bytes]) -> Reply:
    try:
        check = _cpp().checker.check_model
        check(parts[0], False, False, False)
    except _OTHER:
        import onnx.checker

        onnx.checker.check_model(parts[0])
    return {}, []


def _infer(header: dict[str, Any], parts: Sequence[bytes]) -> Reply:
    strict = bool(header.get("strict"))
    try:
        return {}, [_cpp().shape_inference.infer_shapes(parts[0], strict, strict, False)]
    except _OTHER:
        import onnx.shape_inference

        done = onnx.shape_inference.infer_shapes(parts[0], check_type=strict, strict_mode=strict)
        return {}, [done.SerializeToString()]


_OTHER = ImportError, AttributeError, TypeError
"""What `_cpp` and its functions raise in a version of onnx that has others."""


@cache
def _cpp() -> Any:
    """What onnx's checker and shape inference call, without the rest of onnx, which imports numpy:
    that takes longer than most models."""
    name, found = "onnx.onnx_cpp2py_export", find_spec("onnx")
    if name in sys.modules:
        return sys.modules[name]
    if found is None or not found.submodule_search_locations:
        raise ImportError("onnx is no package")
    loaders = ExtensionFileLoader, EXTENSION_SUFFIXES
    spec = FileFinder(found.submodule_search_locations[0], loaders).find_spec(name)
    if spec is None or spec.loader is None:
        raise ImportError(name)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[name] = module  # for onnx, where it is imported later
    return module


def _inline(header: dict[str, Any], parts: Sequence[bytes]) -> Reply:
    import onnx
    import onnx.inliner

    model = onnx.load_model_from_string(parts[0])
    if header.get("op"):
        names = [(header["domain"], header["op"])]
        model = onnx.inliner.inline_selected_functions(model, names, inline_schema_functions=True)
    else:
        model = onnx.inliner.inline_local_functions(model, convert_version=True)
    return {}, [model.SerializeToString()]


def _fold(header: dict[str, Any], parts: Sequence[bytes]) -> Reply:
    import numpy as np
    import onnx
    from onnx.reference import ReferenceEvaluator

    model = onnx.load_model_from_string(parts[0])
    inputs = {
        info.name: _array(kind, shape, data)
        for info, (kind, shape), data in zip(
            model.graph.input, header["arrays"], parts[1:], strict=True
        )
    }
    with np.errstate(all="ignore"):
        results = ReferenceEvaluator(model).run(None, inputs)
    if not all(isinstance(r, np.ndarray | np.generic) for r in results):
        raise TypeError("a result is no tensor")
    arrays = [np.ascontiguousarray(r).reshape(np.shape(r)) for r in results]
    if any(a.dtype.hasobject or a.dtype.kind in "US" for a in arrays):
        raise TypeError("a result holds text")
    if (size := sum(a.nbytes for a in arrays)) > header["limit"]:
        return {"folded": size}, []
    return {"arrays": [(a.dtype.name, a.shape) for a in arrays]}, [a.tobytes() for a in arrays]


def _array(kind: str, shape: Sequence[int], data: bytes) -> Any:
    import ml_dtypes
    import numpy as np

    dtype = np.dtype(getattr(ml_dtypes, kind, None) or kind)
    return np.frombuffer(data, dtype).reshape(shape).copy()


TASKS: dict[str, Callable[[dict[str, Any], Sequence[bytes]], Reply]] = {
    "check": _check,
    "infer": _infer,
    "inline": _inline,
    "fold": _fold,
}


def _limit(memory: int, seconds: float) -> None:
    """What the parent's clock does not stop: memory, and work for a parent that has died."""
    try:
        import resource
    except ImportError:  # no POSIX: the parent's clock is left
        return
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY or most > memory:
        resource.setrlimit(resource.RLIMIT_AS, (memory, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    until = int(used.ru_utime + used.ru_stime + seconds) + 2
    if most == resource.RLIM_INFINITY or most > until:
        resource.setrlimit(resource.RLIMIT_CPU, (until, most))


def _answer(header: dict[str, Any], parts: Sequence[bytes]) -> Reply:
    try:
        return TASKS[header["task"]](header, parts)
    except MemoryError:
        return {"error": "MemoryError", "text": ""}, []
    except Exception as why:  # onnx raises whatever its C++ and numpy code does
        return {"error": type(why).__name__, "text": str(why)[:4000]}, []


def serve(pipe: Connection) -> None:
    """Answer until the other side is closed."""
    while True:
        try:
            header = json.loads(pipe.recv_bytes())
            parts = [pipe.recv_bytes() for _ in range(header["parts"])]
        except EOFError:
            return
        _limit(header["memory"], header["seconds"])
        reply, found = _answer(header, parts)
        pipe.send_bytes(json.dumps(reply | {"parts": len(found)}).encode())
        for part in found:
            pipe.send_bytes(part)


if __name__ == "__main__":
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's
    sys.path[:] = json.loads(sys.argv[2])
    serve(Connection(int(sys.argv[1])))
