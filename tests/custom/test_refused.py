"""What a user may do wrong with operators of his own, and what hostile files may say of them."""

import itertools
import subprocess
from dataclasses import replace

import numpy as np
import onnx
import pytest

import edgekit
from edgekit.toolkit.cli import main
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.format.schema import OpKind
from edgekit.toolkit.format.writer import write
from edgekit.toolkit.runtime import Model, Session

NUMBERS = itertools.count()

OPERATOR = """
import numpy as np
from edgekit import CustomOp

class Double(CustomOp):
    domain, op_type, version = "{domain}", "Double", {version}
    {more}

    def infer(self, call):
        x = call.input(0)
        return [{infer}]

    def compute(self, call, x):
        return {compute}
"""

C = """
#include "edgekit/custom.h"

static ek_status check(const ek_custom_call *call)
{
    const uint32_t count = call->inputs->count;
    return call->input_count == 1 && count == call->outputs->count ? %s : EK_ERR_CORRUPT;
}

static ek_status run(const ek_custom_call *call)
{
    for (uint32_t i = 0; i < call->inputs->count; i++)
        ((float *)call->outputs->data)[i] = 2 * ((const float *)call->inputs->data)[i];
    return EK_OK;
}

EK_CUSTOM_OPERATOR(double_it) = { .name = "%s::Double", .version = %d, .check = check, .run = run };
"""


@pytest.fixture
def domain():
    """One that no other test of this process has."""
    return f"domain{next(NUMBERS)}"


@pytest.fixture
def python(tmp_path, domain):
    """Writes a file of Python with an operator."""

    def make(name="op.py", **parts):
        parts = {
            "version": 1,
            "more": "",
            "infer": "(x.dtype, x.shape)",
            "compute": "2 * x",
        } | parts
        path = tmp_path / name
        path.write_text(OPERATOR.format(domain=domain, **parts))
        return path

    return make


@pytest.fixture
def c_file(tmp_path, domain):
    def make(name="op.c", status="EK_OK", version=1):
        path = tmp_path / name
        path.write_text(C % (status, domain, version))
        return path

    return make


@pytest.fixture
def model(tmp_path, domain):
    """y = Double(x), and three samples beside it."""

    def make(attributes="", shape="1,4"):
        text = f'<ir_version: 8, opset_import: ["" : 17, "{domain}" : 1]>\n'
        text += f"net (float[{shape}] x) => (float[{shape}] y) "
        text += f"{{ y = {domain}.Double {attributes} (x) }}"
        onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
        np.savez(tmp_path / "m.npz", x=np.arange(12, dtype=np.float32).reshape(3, 4))
        return tmp_path / "m.onnx"

    return make


@pytest.fixture
def refused(capsys):
    def run(*words):
        status = main([str(w) for w in words])
        said = capsys.readouterr().err
        assert status == 2, said
        assert "Traceback" not in said and "bug" not in said
        return said

    return run


def test_an_operator_that_nobody_gave(refused, model, python, tmp_path, capsys, domain):
    said = refused("convert", model())
    assert f"domain '{domain}' are unknown" in said and "--op FILE.py" in said


def test_sizes_that_vary(refused, model, python):
    said = refused("convert", model(shape="1,n"), "--dim", "n=1..8", "--op", python())
    assert "are not supported with variable dimensions" in said and "--shape" in said


def test_a_file_without_its_operator_or_of_another_version(files, tmp_path):
    model = read(files["float"][0].read_bytes())
    (at,) = {int(op.params["name"]) for op in model.ops if op.name == "z"}
    other = bytearray(model.blob)
    other[at : at + 7] = b"another"
    with pytest.raises(edgekit.UserError, match=r"another::PCEN is not registered; .* --op"):
        Model(write(replace(model, blob=bytes(other))))
    ops = [
        replace(op, params=op.params | {"version": 2}) if op.name == "z" else op for op in model.ops
    ]
    with pytest.raises(
        edgekit.UserError, match="PCEN is of version 2 in the file and 1 in the registered"
    ):
        Model(write(replace(model, ops=ops)))


@pytest.mark.parametrize(
    ("parts", "line", "what"),
    [
        ({"infer": "1 / 0"}, 11, "infer: ZeroDivisionError"),
        ({"infer": "('float32', (0, 4))"}, 0, "infer: ValueError: an output of shape"),
        ({"infer": "('complex64', x.shape)"}, 0, "which no tensor of a file can have"),
        ({"compute": "x.nothing"}, 14, "compute: AttributeError"),
        ({"compute": "x[:, 1:]"}, 0, r"`infer` said \[1, 4\]"),
        ({"compute": "(x, x)"}, 0, "2 arrays for 1 outputs"),
        ({"compute": "np.ones((1, 4), bool)"}, 0, "an output of bool; it is float32"),
        ({"more": "integers = ('int8',)"}, 0, "says `integers` and has no `integer`"),
        ({"more": "integers = ('int4',)"}, 0, "there are int8, int16"),
        ({"more": "nonsense"}, 7, "NameError"),
    ],
)
def test_python_is_blamed_with_its_line(refused, python, model, tmp_path, parts, line, what):
    path = python(**parts)
    refused("quantize", model(), "--calib", tmp_path / "m.npz", "--op", path)
    with pytest.raises(edgekit.UserError, match=what) as why:
        edgekit.register_op(path)
        edgekit.convert(model(), tmp_path / "m.edge")
        Session(tmp_path / "m.edge").run({"x": np.ones((1, 4), np.float32)})
    assert f"{path.name}: " + (f"line {line}: " if line else "") in str(why.value)


def test_files_that_hold_no_operator(refused, model, tmp_path):
    for name, text, what in (
        ("none.py", "x = 1", "it defines no operator"),
        ("none.c", "int x;", "no line begins with EK_CUSTOM_OPERATOR"),
        ("bad.py", "x = = 1", "line 1: SyntaxError"),
        ("bad.c", "EK_CUSTOM_OPERATOR(a) = 1;", "it does not compile:"),
        ("op.txt", "", "is a .py or a .c file"),
    ):
        (tmp_path / name).write_text(text)
        said = refused("convert", model(), "--op", tmp_path / name)
        assert what in said and name in said
    assert "does not exist" in refused("convert", model(), "--op", tmp_path / "missing.py")
    assert "No such file" in refused("convert", model(), "--op", tmp_path / "missing.c")


def test_names_that_clash_and_versions_that_differ(python, c_file, domain):
    edgekit.register_op(python())
    edgekit.register_op(python())  # the same file again
    taken = rf"{domain}::Double is already an operator of .*op\.py"
    with pytest.raises(edgekit.UserError, match=taken):
        edgekit.register_op(python("other.py"))
    with pytest.raises(edgekit.UserError, match="is version 1 in Python and 2 in C"):
        edgekit.register_op(c_file(version=2))
    edgekit.register_op(c_file())
    with pytest.raises(edgekit.UserError, match=rf"{domain}::Double is already defined in .*op\.c"):
        edgekit.register_op(c_file("other.c"))

    for name in ("CDist", "QLinearAdd"):
        kind = type(name, (edgekit.CustomOp,), {"domain": "com.microsoft", "op_type": name})
        with pytest.raises(edgekit.UserError, match=f"{name} is already an operator of edgekit"):
            edgekit.register_op(kind)


def test_attributes_are_not_passed_over(refused, python, model):
    assert "has an attribute by" in refused("convert", model("<by: int = 3>"), "--op", python())
    path = python(more="attributes = {'by': ('I', None)}")
    assert "has no attribute by" in refused("convert", model(), "--op", path)


def test_a_device_without_c_and_c_that_refuses(refused, python, c_file, model, tmp_path, domain):
    edge = tmp_path / "m.edge"
    assert main(["convert", str(model()), "--op", str(python())]) == 0
    build = ("build", edge, "--target", "cortex_m4", "-o", tmp_path / "fw")
    assert f"{domain}::Double" in (said := refused(*build)) and "--op FILE.c" in said
    said = refused(
        "run", edge, "--input", tmp_path / "m.npz", "--op", c_file(status="EK_ERR_CORRUPT")
    )
    assert "operator 0 (Custom 'y')" in said and "its check" in said
    assert "its check" in refused("convert", model(), "--op", c_file(status="EK_ERR_CORRUPT"))


def test_a_mistake_in_the_attributes_of_a_file_is_refused(files):
    """By the core where they are not in the blob, by the operator where they are."""
    model = read(files["float"][0].read_bytes())
    (op,) = [op for op in model.ops if op.name == "z"]
    size = len(model.blob)
    for change in (
        {"attributes": size - 8}, {"attributes": int(op.params["attributes"]) + 4},
        {"attribute_bytes": 16}, {"attribute_bytes": 0}, {"attribute_bytes": 2**32 - 1},
        {"name_bytes": 0}, {"name_bytes": size + 1}, {"name_bytes": 3}, {"name": 2**32 - 1},
        {"scratch": 60},
    ):  # fmt: skip
        broken = replace(op, params=op.params | change)
        ops = [broken if o is op else o for o in model.ops]
        with pytest.raises(edgekit.UserError, match=r"operator \d+ \(Custom 'z'\)"):
            Model(write(replace(model, ops=ops)))


def test_firmware_without_such_operators_has_nothing_of_them(digits_edge):
    from edgekit.toolkit.device.build import compile_runtime, load_target, prepare
    from edgekit.toolkit.device.process import find

    target = load_target("cortex_m4")
    if not find(target.compiler):
        pytest.skip(f"{target.compiler} is not installed")
    archive = compile_runtime(target, read(prepare(digits_edge.read_bytes(), target)))
    listed = subprocess.run([target.tool("nm"), archive.library], capture_output=True, text=True)
    assert "ek_open_with" in listed.stdout and "custom" not in listed.stdout


def test_a_kind_is_named_by_what_runs(files):
    kinds = {op.kind for op in Session(files["int8"][0]).op_outputs}
    assert OpKind.Custom in kinds
