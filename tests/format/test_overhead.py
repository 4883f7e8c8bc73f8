"""All that a device reads but the weights takes at most 4 KB + 2 % of them (docs/format.md)."""

import os
from pathlib import Path

import numpy as np
import pytest

import edgekit
from edgekit.toolkit.format.reader import read_file
from edgekit.toolkit.format.strip import strip
from edgekit.toolkit.onnx_import import load

MODELS = Path(
    os.environ.get("EDGEKIT_MODELS", Path(__file__).resolve().parents[3] / "shared" / "models")
)


@pytest.mark.parametrize(
    "name",  # the first two have the most operators for their weights
    ["mediapipe_selfie_segmentation", "fastestdet", "mlperf_kws_dscnn", "ml_digits_mlp"],
)
def test_the_rest_of_a_file_is_small(name, tmp_path):
    onnx = MODELS / name / "model.onnx"
    if not onnx.exists():
        pytest.skip(f"{onnx} is not here; set EDGEKIT_MODELS to the folder of models")
    rng = np.random.default_rng(0)
    feed = {p.name: rng.random(p.shape, dtype=np.float32) for p in load(onnx).inputs}
    quick = {"observer": "minmax", "effort": "fast", "on_low_accuracy": "warn"}
    edgekit.quantize(onnx, [feed], tmp_path / "int8.edge", **quick)
    edgekit.convert(onnx, tmp_path / "float32.edge")
    for path in tmp_path.glob("*.edge"):
        blob, counted = len(read_file(path).blob), len(strip(path.read_bytes()))
        assert counted - blob <= 4096 + blob // 50, path.stem
