"""The capability table and the page printed from it."""

from pathlib import Path

import pytest

from edgekit.toolkit.capabilities import capabilities, markdown
from edgekit.toolkit.cli import main
from edgekit.toolkit.ops import FROM_ONNX
from edgekit.toolkit.ops.custom.definition import Custom

PAGE = Path(__file__).parent.parent / "docs" / "supported-ops.md"


def test_the_page_is_up_to_date():
    assert PAGE.read_text() == markdown(), "edgekit ops --markdown > docs/supported-ops.md"


def test_the_command_prints_the_page(capsys):
    assert main(["ops", "--markdown"]) == 0
    assert capsys.readouterr().out == markdown()


def test_every_operator_that_is_read_is_listed_once():
    names = [row.onnx for row in capabilities()]
    read = [name for name, op in FROM_ONNX.items() if not isinstance(op, Custom)]  # a user's own
    assert sorted(read) == names == sorted(set(names))


@pytest.mark.parametrize(
    ("onnx", "op", "int8", "table"),
    [
        ("Conv", "Conv2d", True, False),
        ("Sigmoid", "Sigmoid", True, True),
        ("BatchNormalization", "BatchNormalization", False, False),
    ],
)
def test_what_the_rows_say(onnx, op, int8, table):
    row = next(r for r in capabilities() if r.onnx == onnx)
    assert (row.op, row.int8, row.table, row.float32) == (op, int8, table, True)


def test_what_only_moves_bytes_serves_int16():
    rows = {r.onnx: r for r in capabilities()}
    assert all(rows[name].int16 for name in ("Transpose", "Reshape", "Pad", "Concat", "Gather"))
    assert not any(r.int16 and not r.int8 for r in rows.values())
