"""Registration of custom operators in this process (docs/custom-operators.md)."""

from __future__ import annotations

import inspect
from pathlib import Path

from ..device.custom import compile_here, keep_file
from ..errors import CustomOperatorError, UserError
from ..onnx_import.qdq.qoperators import READ
from ..ops import CUSTOM, add_custom
from ..ops.custom.definition import definition_of
from ..ops.custom.operator import CustomOp
from ..runtime import operators as runtime
from ..runtime.custom import of_python
from ..user_code import module_of


def register_op(source: str | Path | CustomOp | type[CustomOp]) -> list[str]:
    """Register custom operators in this process; return their names, "domain::operator".

    `source` is a Python file with classes derived from CustomOp, such a class or an instance of it,
    or a C file. Python code is needed to import, quantize and build files; C code is needed on
    devices, and used on this machine if it is registered. Both are executed on this machine: pass
    only files that you trust. Raises CustomOperatorError for a file that cannot be used.
    """
    if isinstance(source, CustomOp):
        return [_register_python(source, inspect.getsourcefile(type(source)) or "<python>")]
    if isinstance(source, type):
        return [_register_python(source(), inspect.getsourcefile(source) or "<python>")]
    path = Path(source).resolve()
    if path.suffix == ".py":
        return [_register_python(kind(), str(path)) for kind in _classes_of(path)]
    if path.suffix == ".c":
        return _register_c(path)
    raise UserError(f"{source}: a custom operator is a .py or a .c file")


def _classes_of(path: Path) -> list[type[CustomOp]]:
    module = module_of(path, "a custom operator is FILE.py or FILE.c")
    found = [v for v in vars(module).values() if isinstance(v, type) and issubclass(v, CustomOp)]
    found = [v for v in found if v.__module__ == module.__name__ and v.op_type]
    if not found:
        raise CustomOperatorError(
            f"{path}: it defines no operator (no class derived from edgekit.CustomOp with an "
            "op_type)"
        )
    return found


def _register_python(op: CustomOp, source: str) -> str:
    made = definition_of(op, source)
    known = runtime.registered(made.name)
    native = known is not None and known.native
    if known is not None and native:
        _must_agree(made.name, op.version, known.version)
    with made.blamed(type(op).__name__):
        if made.onnx[0] in READ:
            raise ValueError(f"{made.name} is already an operator of edgekit; rename yours")
        add_custom(made)
    if not native:
        runtime.add(of_python(made))
    return made.name


def _register_c(path: Path) -> list[str]:
    found = compile_here(path)
    for op in found:
        made = CUSTOM.get(op.name)
        if made is not None:
            _must_agree(op.name, made.op.version, op.version)
        keep_file(op.name, path)
        runtime.add(op)
    return [op.name for op in found]


def _must_agree(name: str, python: int, c: int) -> None:
    if python != c:
        raise CustomOperatorError(f"{name} is version {python} in Python and {c} in C")
