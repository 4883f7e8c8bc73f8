"""What files take besides their weights: python tests/bench/overhead.py [MODEL...]

Of each model, int8 and float32: bytes of the file, of the blob, of the rest, and how many
docs/format.md allows. Models are names under $EDGEKIT_MODELS, read by its eval_lib.py; by default
the twelve convolutional and linear ones.
"""

import sys
import tempfile
from pathlib import Path

from collection import MODELS, eval_lib

import edgekit
from edgekit.toolkit.format.reader import read_file

TWELVE = (
    "mlperf_ad_autoencoder", "mlperf_ic_resnet8", "mlperf_kws_dscnn", "mlperf_sww_tcn",
    "mlperf_vww_mobilenetv1", "mobilenet_v1_025_224", "ultraface_rfb320", "fastestdet",
    "super_resolution_x3", "mediapipe_selfie_segmentation", "mnist_cntk", "ml_digits_mlp",
)  # fmt: skip


def samples(model):
    """The calibration samples of a model of the collection."""
    arrays = eval_lib().load_inputs(str(model), "calib")
    count = min(len(a) for a in arrays.values())
    return [{k: v[i : i + 1] for k, v in arrays.items()} for i in range(count)]


def sizes(path):
    """(bytes of the file, of the blob, allowed besides the blob)."""
    file, blob = path.stat().st_size, len(read_file(path).blob)
    return file, blob, 4096 + blob // 50


def files(model, folder):
    """Element type -> path of the model's file."""
    paths = {dtype: folder / f"{dtype}.edge" for dtype in ("int8", "float32")}
    edgekit.quantize(model / "model.onnx", samples(model), paths["int8"])
    edgekit.convert(model / "model.onnx", paths["float32"])
    return paths


def main(names):
    print(f"{'model':32}{'dtype':9}{'file':>9}{'blob':>9}{'rest':>7}{'allowed':>9}")
    beyond = 0
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            for dtype, path in files(MODELS / name, Path(folder)).items():
                file, blob, allowed = sizes(path)
                rest = file - blob
                beyond += rest > allowed
                print(f"{name:32}{dtype:9}{file:9}{blob:9}{rest:7}{allowed:9}")
    return 1 if beyond else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or TWELVE))
