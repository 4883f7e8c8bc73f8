"""Commands that must be refused."""

import pytest

from edgekit.toolkit.cli import main


@pytest.fixture
def refused(capsys, tmp_path):
    """Runs a command that must be refused; returns what it says."""

    def run(*words):
        before = sorted(tmp_path.rglob("*"))
        status = main([str(w) for w in words])
        captured = capsys.readouterr()
        assert status == 2, captured.err
        assert captured.out == ""
        assert "Traceback" not in captured.err and "bug" not in captured.err
        assert sorted(tmp_path.rglob("*")) == before
        return " ".join(captured.err.split())

    return run


@pytest.fixture
def quantize_refused(refused, digits, tmp_path):
    def run(model=None, calib=None, *more):
        return refused(
            "quantize", model or digits / "digits.onnx", "--calib", calib or digits / "calib.npz",
            "-o", tmp_path / "out.edge", *more,
        )  # fmt: skip

    return run
