"""Who may import whom: docs/architecture.md is the law, this reads it and the sources."""

import ast
import re
import sys
import tomllib
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from edgekit.toolkit.format.schema import STRUCTS, OpKind
from edgekit.toolkit.numerics import ELEMENTS, PRECISIONS
from edgekit.toolkit.ops import ALL

ROOT = Path(__file__).parent.parent
FOLDERS = {
    "calibration": {"runtime_c"},
    "runtime_c": set(),
    "targets": {"runtime_c"},
    "toolkit": {"calibration", "targets", "runtime_c"},
}
"""The folders of the package, and the others that each may import. An accelerator's backend in
targets/FAMILY may import the toolkit besides, which finds it by target.toml alone."""

ALONE = {
    "onnx": {"onnx_import", "onnx_export"},
    "google.protobuf": {"onnx_import"},
    "flatbuffers": {"format"},
    "onnxruntime": {"accuracy"},
    "click": {"cli"},
    "rich": {"cli"},
    "jinja2": {"device", "report"},
    "subprocess": {"device", "onnx_import"},
    "edgekit.runtime_c._ffi": {"runtime"},
}
"""Modules, and the parts of toolkit/ that alone may import them."""

BINDING = Path("calibration/array_statistics.py")
"""Where calibration/ calls its C; a backend loads that of its host.cmake from the binding too."""


def sources():
    for folder in FOLDERS:
        yield from sorted((ROOT / folder).rglob("*.py"))


def imports(path):
    """(line, absolute name) of every import; names of this package begin with 'edgekit'."""
    inside = ["edgekit", *path.relative_to(ROOT).parent.parts]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = inside[: len(inside) - node.level + 1] if node.level else []
            for alias in node.names:
                yield node.lineno, ".".join([*base, *filter(None, [node.module]), alias.name])


@cache
def all_imports():
    return [(path.relative_to(ROOT), line, name)
            for path in sources() for line, name in imports(path)]  # fmt: skip


def is_backend(path):
    """Whether a source belongs to a target's backend."""
    return path.parts[0] == "targets" and len(path.parts) > 2


def part(module):
    """The part of toolkit/ that a path or an absolute name belongs to."""
    parts = module.parts if isinstance(module, Path) else module.split(".")[1:]
    assert parts[0] == "toolkit"
    return parts[1].removesuffix(".py")


def arrows(*folder):
    """What each part of a folder, a module or a package, imports of the others."""
    found = {}
    for path, _, name in all_imports():
        mine, other = path.with_suffix("").parts, tuple(name.split(".")[1:])
        depth = len(folder)
        if mine[:depth] == folder and mine[depth:] != ("__init__",):
            others = found.setdefault(mine[depth], set())
            if other[:depth] == folder and len(other) > depth:
                others.add(other[depth])
    return {mine: (others & found.keys()) - {mine} for mine, others in found.items()}


def rooms():
    """The parts of toolkit/quantize, and what each may import, as docs/architecture.md has it."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    section = page.split("## toolkit/quantize/")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)(?:/|\.py)` \| [^|]+ \| ([^|]+) \|", section, re.MULTILINE)
    return {room: set(re.findall(r"`(\w+)`", allowed)) for room, allowed in rows}


def floors():
    """The floor of each part of toolkit/, as docs/architecture.md has it."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    found = {}
    for floor, names in re.findall(r"^\| (\d) \| ([^|]+) \|", page, re.MULTILINE):
        for name in re.findall(r"`(\w+)(?:/|\.py)`", names):
            assert name not in found, f"{name} is on two floors"
            found[name] = int(floor)
    return found


def test_folders_import_one_way():
    bad = []
    for path, line, name in all_imports():
        mine, parts = path.parts[0], name.split(".")
        allowed = {mine, *FOLDERS[mine], *({"toolkit"} if is_backend(path) else ())}
        if parts[0] == "edgekit" and parts[1] in FOLDERS and parts[1] not in allowed:
            bad.append(f"{path}:{line}: {name}")
    assert not bad


def test_backends_are_imported_by_no_other_folder():
    families = {p.parent.name for p in (ROOT / "targets").glob("*/target.toml")}
    bad = []
    for path, line, name in all_imports():
        parts = name.split(".")[1:]
        theirs = parts[:1] == ["targets"] and families & {*parts[1:2]}
        if theirs and path.parts[:2] != ("targets", parts[1]):
            bad.append(f"{path}:{line}: {name}")
    assert not bad


def words_of_targets():
    """The words of which the names of targets, their folders and their tables are made."""
    names = set()
    for path in (ROOT / "targets").glob("*/target.toml"):
        facts = tomllib.loads(path.read_text())
        names |= {path.parent.name, *facts["target"], *facts.get("tables", ())}
        names |= {table for own in facts["target"].values() for table in own.get("tables", ())}
    words = {word for name in names for word in re.split(r"[\d_]*_[\d_]*", name)}
    # linux is a system; 64 and m4 say nothing alone
    return {word for word in words if len(word) > 2} - {"linux"} | {"helium", "pocl", "neon"}


def test_the_toolkit_names_no_target():
    words = words_of_targets() - {"generic"}  # which is also what a file is that no target packed
    names = re.compile("|".join(sorted(words)), re.IGNORECASE)
    assert names.search("hexagon") and names.search("OpenCL") and names.search("_fpga")
    found = [
        f"{path.relative_to(ROOT)}:{n}: {line.strip()}"
        for path in sorted((ROOT / "toolkit").rglob("*.py"))
        for n, line in enumerate(path.read_text().splitlines(), 1)
        if names.search(line)
    ]
    assert not found


def test_every_part_of_the_toolkit_has_a_floor():
    here = (ROOT / "toolkit").iterdir()
    parts = {p.stem for p in here if p.suffix == ".py" or any(p.glob("*.py"))}
    assert parts - {"__init__"} == set(floors())


def test_nothing_imports_upward():
    floor = floors()
    bad = []
    for path, line, name in all_imports():
        if (
            path.parts[0] == "toolkit"
            and name.startswith("edgekit.toolkit.")
            and len(path.parts) > 1
        ):
            mine, other = part(path), part(name)
            if mine in floor and floor.get(other, 0) > floor[mine]:
                bad.append(f"{path}:{line}: floor {floor[mine]} imports {other}, {floor[other]}")
    assert not bad


def test_c_and_cmake_are_templates_of_targets_and_no_strings():
    code = re.compile(r"#include <|#include .edgekit|cmake_minimum|add_executable|target_link_lib")
    sources = (ROOT / "toolkit").rglob("*.py")
    assert not [p.name for p in sources if code.search(p.read_text())]
    assert code.search((ROOT / "targets/project/main.c.jinja").read_text())
    assert code.search((ROOT / "targets/project/CMakeLists.txt.jinja").read_text())


@pytest.mark.parametrize("folder", ["toolkit", "toolkit/quantize"])
def test_packages_import_one_way(folder):
    try:
        TopologicalSorter(arrows(*folder.split("/"))).prepare()
    except CycleError as why:
        pytest.fail(f"{folder}: " + " imports ".join(reversed(why.args[1])))


def test_rooms_of_quantize_import_what_they_may():
    assert arrows("toolkit", "quantize") == rooms()


@pytest.mark.parametrize("module", ALONE)
def test_one_place_imports(module):
    users = [
        (path, line)
        for path, line, name in all_imports()
        if name == module or name.startswith(f"{module}.")
    ]
    assert users
    of_binding = module.endswith("._ffi")
    own = [(p, n) for p, n in users if not (of_binding and (is_backend(p) or p == BINDING))]
    assert not [
        f"{p}:{n}" for p, n in own if p.parts[0] != "toolkit" or part(p) not in ALONE[module]
    ]


def test_only_the_binding_is_not_relative():
    """Inside the package imports are relative: an absolute one could load a second copy."""
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and not node.level:
                assert (node.module or "").split(".")[0] not in {"edgekit", *FOLDERS}, path


OPERATOR_NAMES = 1
"""Names of operators of the IR as literals outside ops/ and passes/: lower it where they get fewer.
What a rewrite asks of an operator is a trait of its OpDef, a class or a function of the schema."""


def test_names_of_operators_get_no_more_in_the_toolkit():
    """ops/ makes them, passes/ match them, onnx_import/ and onnx_export/ speak of ONNX's."""
    theirs = {"ops", "passes", "onnx_import", "onnx_export"}
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.value}"
        for path in sources()
        if path.relative_to(ROOT).parts[:1] != ("toolkit",)
        or part(path.relative_to(ROOT)) not in theirs
        if path.name != "schema.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in ALL
    ]
    assert len(found) == OPERATOR_NAMES, found


NAMES_OF_TYPES = 2
"""Names of numeric types as literals outside numerics.py: lower it where they get fewer. These are
the name of a rewrite and that of an option."""


def test_names_of_numeric_types_stand_in_numerics():
    """Others take them from there, and iterate over its lists."""
    names = {*PRECISIONS, *(e.name for e in ELEMENTS)} - {"bool"}
    own = r"(?:np\.int{0}|DType\.Int{0}|(?<![.\w])INT{0})\b"
    both = re.compile(f"(?s)(?=.*{own.format(8)}).*{own.format(16)}")
    literals, lists = [], []
    for path in sorted((ROOT / "toolkit").rglob("*.py")):
        if path.name in ("schema.py", "numerics.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            where = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Constant) and node.value in names:
                literals.append(f"{where}: {node.value}")
            if isinstance(node, ast.Tuple | ast.List | ast.Set):
                lists += [f"{where}: {text}" for text in [ast.unparse(node)] if both.search(text)]
    assert len(literals) == NAMES_OF_TYPES, literals
    assert not lists


KINDS = 45
"""Kinds of operators that a file may have, at most: prefer a function of an existing one."""


def test_kinds_are_few_and_have_structs_of_their_own():
    """What two kinds with the same struct do is one kind, told apart by dtypes and attributes."""
    kinds = [kind.name for kind in OpKind if kind.name in STRUCTS]
    assert len(kinds) == len(OpKind) <= KINDS
    alike = {}
    for kind in kinds:
        layout, fields, *_ = STRUCTS[kind]
        alike.setdefault((layout, fields), []).append(kind)
    assert [k for k in alike.values() if len(k) > 1] == []


def test_the_graph_knows_only_numpy():
    allowed = {"numpy", "edgekit", *sys.stdlib_module_names}
    names = [name for _, name in imports(ROOT / "toolkit" / "ir.py")]
    assert {name.split(".")[0] for name in names} <= allowed
