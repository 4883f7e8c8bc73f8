"""A device gets no provenance and no names of operators."""

import json

from edgekit.toolkit.cli import main
from edgekit.toolkit.device.build import prepare
from edgekit.toolkit.device.emulate import Device
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.format.strip import stripped
from edgekit.toolkit.format.writer import write


def test_what_is_built_for_a_device_is_stripped(ready, model_file, tmp_path):
    target = ready("cortex_m4")
    whole = model_file("digits")[0]
    assert main(["build", str(whole), "--target", target.name, "-o", str(tmp_path / "fw")]) == 0
    built = next((tmp_path / "fw").glob("*.edge")).read_bytes()
    assert built == write(stripped(read(prepare(whole.read_bytes(), target))))
    sizes = json.loads((tmp_path / "fw" / "size.json").read_text())
    assert sizes["model"] == len(built)
    with Device(whole.read_bytes(), target) as device:
        assert device.model_bytes == len(built)
