"""Names of a model are text in the report, never markup."""

import re
from dataclasses import replace

from edgekit import inspect
from edgekit.toolkit.report.html import LayerRow, OutputRow, ReportData, render

HOSTILE = "<script>alert('&\"')</script>"


def test_names_are_escaped_wherever_they_stand(digits_edge):
    found = inspect(digits_edge)
    found = replace(
        found,
        inputs=[replace(io, name=HOSTILE) for io in found.inputs],
        outputs=[replace(io, name=HOSTILE) for io in found.outputs],
        ops=[replace(op, name=HOSTILE) for op in found.ops],
        memory_map=[replace(row, name=HOSTILE) for row in found.memory_map],
        provenance=dict.fromkeys(found.provenance, HOSTILE),
    )
    page = render(
        ReportData(
            title=HOSTILE,
            inspection=found,
            float_bytes=1,
            observer=HOSTILE,
            effort=HOSTILE,
            samples=1,
            outputs=[OutputRow(HOSTILE, 30.0, 1.0, 0.1)],
            layers=[LayerRow(HOSTILE, HOSTILE, HOSTILE, 1, 1, 0.0, 1.0, 30.0)],
            summary=[HOSTILE],
            watched=1,
            decisions=[HOSTILE],
            oracle=HOSTILE,
            notes=[HOSTILE],
            rounded=HOSTILE,
        )
    )
    assert page.count("&lt;script&gt;alert") >= 8
    assert not re.search(r"<script>alert|alert\('&\"", page)
