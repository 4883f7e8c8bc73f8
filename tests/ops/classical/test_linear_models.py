"""Scaler, LinearRegressor, LinearClassifier and Normalizer of ai.onnx.ml, against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.errors import UnsupportedError

ML = {"domain": "ai.onnx.ml"}
X = np.random.default_rng(0).normal(0, 2, (4, 5)).astype(np.float32)
ROWS = [float(v) for v in np.random.default_rng(1).normal(size=15)]


def test_features_are_scaled(run_onnx):
    run_onnx("Scaler", {"x": X}, offset=ROWS[:5], scale=ROWS[5:10], **ML).agree()
    run_onnx("Scaler", {"x": X}, offset=ROWS[:1], scale=ROWS[5:6], **ML).agree()


@pytest.mark.parametrize("targets", [1, 3])
def test_values_are_predicted(run_onnx, targets):
    attrs = {"coefficients": ROWS[: 5 * targets], "intercepts": ROWS[:targets]}
    run_onnx("LinearRegressor", {"x": X}, targets=targets, **attrs, **ML).agree()


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"])
@pytest.mark.parametrize("labels", [[0, 1, 2], [7, -1, 4]])
def test_classes_are_told(run_onnx, transform, labels):
    attrs = {"coefficients": ROWS, "intercepts": ROWS[:3], "classlabels_ints": labels}
    attrs |= {"multi_class": 1, "post_transform": transform}
    run_onnx("LinearClassifier", {"x": X}, outputs=2, **attrs, **ML).agree()


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC"])
@pytest.mark.parametrize("labels", [[0, 1], [7, -1]])
def test_one_score_tells_two_classes(run_onnx, transform, labels):
    attrs = {"coefficients": ROWS[:5], "intercepts": ROWS[:1], "classlabels_ints": labels}
    run_onnx(
        "LinearClassifier", {"x": X}, outputs=2, post_transform=transform, **attrs, **ML
    ).agree()


@pytest.mark.parametrize("norm", ["MAX", "L1", "L2"])
def test_rows_are_normalized(run_onnx, norm):
    x = np.concatenate([X, np.zeros((1, 5), np.float32)])
    run_onnx("Normalizer", {"x": x}, norm=norm, **ML).agree()


def test_labels_beyond_int32_are_refused(run_onnx):
    attrs = {"coefficients": ROWS, "intercepts": ROWS[:3], "classlabels_ints": [0, 1, 1 << 40]}
    with pytest.raises(UnsupportedError, match="holds 1099511627776, which does not fit int32"):
        run_onnx("LinearClassifier", {"x": X}, outputs=2, **attrs, **ML)
