"""Where output goes: full devices, pipes that nobody reads, Ctrl-C, and names that are hostile."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import onnx
import pytest
from onnx import TensorProto, helper

from edgekit.toolkit.cli import main
from edgekit.toolkit.cli.output import plain
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.format.writer import write

FULL = "/dev/full"
RUN = """
import json, os, sys
import edgekit.toolkit.pipeline  # an editable install is rebuilt here, which says so
from edgekit.toolkit.cli import main
found = []
for stream, where, words in json.loads(sys.argv[1]):
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(writer, 3 - stream)
        os.close(reader)
        os.close(writer)
        if where == "pipe":
            reader, writer = os.pipe()
            os.close(reader)
        else:
            writer = os.open(where, os.O_WRONLY)
        os.dup2(writer, stream)
        sys.exit(main(words))
    os.close(writer)
    with open(reader) as pipe:
        said = pipe.read()
    found.append((os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said))
with open(sys.argv[2], "w") as file:
    json.dump(found, file)
"""


@pytest.fixture
def run(tmp_path, digits_edge):
    """(exit status, what went to the other stream) of commands whose stdout (1) or stderr (2) goes
    to a file or a pipe that nobody reads."""

    def each(stream, where, *commands):
        if where != "pipe" and not os.path.exists(where):
            pytest.skip(f"needs {where}")
        cases = [(stream, where, words.format(digits_edge).split()) for words in commands]
        result = tmp_path / "result.json"
        subprocess.run([sys.executable, "-c", RUN, json.dumps(cases), result], check=True)
        return json.loads(result.read_text())

    return each


WRITES_TO_STDOUT = ("inspect {} --json", "ops --markdown", "--help", "--version", "run --help")


def test_a_full_output_is_a_sentence(run):
    for status, told in run(1, FULL, *WRITES_TO_STDOUT):
        assert status == 2
        assert told.startswith("edgekit: cannot write: No space left on device; free some space")
        assert told.count("\n") == 1


def test_tables_into_a_full_device_are_an_exit_status(run):
    commands = ("inspect {}", "inspect missing.edge", "inspect --nonsense")
    assert run(2, FULL, *commands) == [[2, ""]] * 3


def test_nobody_has_to_read_to_the_end(run):
    assert run(1, "pipe", *WRITES_TO_STDOUT) == [[0, ""]] * len(WRITES_TO_STDOUT)
    assert run(2, "pipe", "inspect {}") == [[0, ""]]


def test_ctrl_c_has_the_status_of_the_shell(monkeypatch, capsys, digits_edge):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("edgekit.toolkit.inspection.read", interrupted)
    assert main(["inspect", str(digits_edge)]) == 130
    assert capsys.readouterr().err.split() == ["aborted"]


HOSTILE = "a\x1b]0;owned\x07\x1b[2Jb\x9b31m\u202e"


def assert_harmless(text):
    assert all(c in "\n\t" or c.isprintable() for c in text), ascii(text)
    assert "\\x1b]0;owned" in "".join(text.split())


def test_only_control_characters_are_escaped():
    assert plain(HOSTILE) == r"a\x1b]0;owned\x07\x1b[2Jb\x9b31m\u202e"
    assert plain("ü ☃ 猫\n\t\\x") == "ü ☃ 猫\n\t\\x"


def test_names_of_a_file_reach_no_terminal_raw(capsys, digits_edge, tmp_path):
    made = read(digits_edge.read_bytes())
    outputs = [replace(io, name=HOSTILE) for io in made.outputs]
    ops = [replace(op, name=HOSTILE) for op in made.ops]
    path = tmp_path / "m.edge"
    path.write_bytes(write(replace(made, outputs=outputs, ops=ops)))
    assert main(["inspect", str(path)]) == 0
    assert_harmless(capsys.readouterr().err)
    inputs = [replace(io, name=HOSTILE) for io in made.inputs]
    path.write_bytes(write(replace(made, inputs=inputs)))
    assert main(["run", str(path), "--input", "x=x.npy"]) == 2
    assert_harmless(capsys.readouterr().err)
    assert main(["inspect", str(tmp_path / HOSTILE)]) == 2
    assert_harmless(capsys.readouterr().err)
    assert main(["inspect", str(path), f"--{HOSTILE}"]) == 2
    assert_harmless(capsys.readouterr().err)


def test_names_of_a_model_reach_no_terminal_raw(capsys, tmp_path):
    graph = helper.make_graph(
        [helper.make_node("RandomNormalLike", ["x"], ["y"], name=HOSTILE)],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3, 3])],
    )
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=8)
    onnx.save(model, tmp_path / "m.onnx")
    assert main(["convert", str(tmp_path / "m.onnx")]) == 2
    assert_harmless(capsys.readouterr().err)


def test_a_bug_with_a_hostile_name_is_shown_plain(monkeypatch, capsys, digits_edge):
    def broken(*_):
        raise ZeroDivisionError(HOSTILE)

    monkeypatch.setattr("edgekit.toolkit.inspection.read", broken)
    assert main(["inspect", str(digits_edge)]) == 70
    assert_harmless(capsys.readouterr().err)


def test_python_dash_m_is_the_command():
    command = [sys.executable, "-m", "edgekit"]
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "edgekit, version" in done.stdout
    done = subprocess.run([*command, "nonsense"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "Usage: edgekit" in done.stderr
