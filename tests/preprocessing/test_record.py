"""What a file says of pixels is applied by every command, and not contradicted."""

import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import edgekit
from edgekit.calibration import CalibrationError, ImageOptions, InputSpec, open_samples
from edgekit.toolkit.cli import main
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.format.reader import read_file
from edgekit.toolkit.format.strip import strip
from edgekit.toolkit.preprocessing import (
    PRESETS,
    Preprocessing,
    agreed,
    class_names,
    preprocessing_of,
    preset,
)
from edgekit.toolkit.preprocessing.record import recorded

COLOUR = InputSpec("x", (1, 3, 5, 7), np.dtype(np.float32))


@pytest.fixture(scope="module")
def pictures(tmp_path_factory, digits):
    """Twenty of the demo's images as PNG, in a folder a class."""
    folder = tmp_path_factory.mktemp("pictures")
    data = np.load(digits / "eval.npz")
    for i in range(60):
        to = folder / f"digit{data['label'][i]}"
        to.mkdir(exist_ok=True)
        pixels = np.rint(data["image"][i, 0] * 255).astype(np.uint8)
        Image.fromarray(pixels).save(to / f"{i}.png")
    return folder


@pytest.fixture(scope="module")
def quantized(tmp_path_factory, digits, pictures):
    """The demo's network calibrated with pictures whose colours are inverted."""
    out = tmp_path_factory.mktemp("quantized") / "m.edge"
    image = ImageOptions(mean=(1.0,), std=(-1.0,))
    edgekit.quantize(digits / "digits.onnx", pictures, out, observer="minmax", image=image,
                     on_low_accuracy="warn")  # fmt: skip
    return out


def checked(capsys, quantized, digits, data, *words):
    command = ["check", quantized, "--float", digits / "digits.onnx", "--data", data, "--json"]
    status = main([*map(str, command), *words])
    printed = capsys.readouterr()
    return status, printed.err, json.loads(printed.out) if printed.out else None


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_the_range_it_names(name):
    made = Preprocessing.of(preset(name), COLOUR)
    pixels = np.zeros((5, 7, 3), np.uint8)
    low, high = made.values(pixels), made.values(pixels + 255)
    if ".." in name:
        wanted = [float(v) for v in name.split("..")]
        np.testing.assert_allclose([low.min(), high.max()], wanted, atol=1e-6)
    elif name == "imagenet":  # torchvision's ToTensor and Normalize
        np.testing.assert_allclose(low[0, :, 0, 0], [-2.1179, -2.0357, -1.8044], atol=1e-4)
    else:
        np.testing.assert_allclose(low[0, :, 0, 0], [-103.939, -116.779, -123.68], atol=1e-4)


def test_pixels_become_what_pictures_do(tmp_path):
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (5, 7, 3)).astype(np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    for spec in (COLOUR, InputSpec("x", (1, 5, 7, 1), np.dtype(np.float32))):
        for image in (ImageOptions(bgr=True, mean=(0.5,), std=(0.2,)), preset("-1..1")):
            (feed,) = open_samples(tmp_path, [spec], image)
            made = Preprocessing.of(image, spec).of_raw(pixels, "x")
            np.testing.assert_array_equal(made, feed["x"])


def test_a_record_survives_json():
    for image in (*PRESETS.values(), ImageOptions(resize=(9, 9), layout="nchw")):
        made = Preprocessing.of(replace(image, fit="letterbox", fill=114), COLOUR)
        assert Preprocessing.from_json(json.loads(json.dumps(made.to_json()))) == made
    told = Preprocessing.of(preset("0..1"), COLOUR).to_json()
    older = {key: value for key, value in told.items() if key not in ("fit", "fill")}
    assert Preprocessing.from_json(older) == Preprocessing.from_json(told)


@pytest.mark.parametrize(
    "change",
    [{"scale": 0}, {"scale": "x"}, {"mean": [1, 2]}, {"std": [0]}, {"channels": 2}, {"height": 0},
     {"resize": [1]}, {"mean": None}, {"scale": 1e999}, {"resize": [0, 3]}, {"fit": 3}, {"fit": []},
     {"fill": -1}, {"fill": None}],
)  # fmt: skip
def test_a_damaged_record_is_refused(change):
    told = Preprocessing.of(preset("0..1"), COLOUR).to_json() | change
    with pytest.raises(ValueError, match="damaged"):
        recorded({"preprocessing": {"x": told}})
    for other in ({"x": 3}, {"x": {}}, []):
        with pytest.raises(ValueError, match="damaged"):
            recorded({"preprocessing": other})


def test_what_is_not_given_is_the_files_and_what_is_must_be():
    made = {"x": Preprocessing.of(preset("imagenet"), COLOUR)}
    assert agreed({}, None, "f") == ImageOptions()
    assert agreed(made, None, "f") == agreed(made, preset("imagenet"), "f") == made["x"].image
    for other in (ImageOptions(mean=(0.5,)), ImageOptions(bgr=True), ImageOptions(scale=1.0),
                  ImageOptions(fit="crop")):  # fmt: skip
        with pytest.raises(UserError, match="contradicts"):
            agreed(made, other, "f")


def test_check_applies_the_record_and_refuses_a_contradiction(quantized, digits, pictures, capsys):
    made = preprocessing_of(read_file(quantized).provenance, "m.edge")["image"]
    assert (made.mean, made.std, made.scale) == ((1.0,), (-1.0,), 1 / 255)
    status, _, told = checked(capsys, quantized, digits, pictures)
    assert status == 0
    confusion, worst = told["mistakes"]["confusion"], told["mistakes"]["worst"]
    assert confusion and all(row["label"].startswith("digit") for row in confusion)
    folder = worst[0]["place"].removeprefix(str(pictures)).split("/")[1]
    assert folder.startswith("digit") and worst[0]["place"].endswith(".png")
    main(["check", str(quantized), "--float", str(digits / "digits.onnx"), "--data", str(pictures)])
    said = capsys.readouterr()
    for text in ("most confused classes (samples): digit", f"worst samples: {worst[0]['place']} ("):
        assert text in said.out + said.err
    same = checked(capsys, quantized, digits, pictures, "--mean", "1", "--std", "-1")[2]
    assert same["outputs"] == told["outputs"] and told["outputs"][0]["sqnr_db"] > 20
    status, said, _ = checked(capsys, quantized, digits, pictures, "--mean", "0.5")
    assert status == 2 and "mean (0.5,) contradicts" in said and "gray 8x8" in said


def test_run_and_session_take_pictures_and_pixels(quantized, pictures, tmp_path, capsys):
    picture = min(pictures.rglob("*.png"))
    pixels = np.asarray(Image.open(picture))
    session = edgekit.Session(quantized)
    want = session.run((1 - pixels.astype(np.float32) / 255)[None, None])["probabilities"]
    np.testing.assert_array_equal(session.run(pixels)["probabilities"], want)
    colour = np.repeat(pixels[..., None], 3, axis=2)
    many = session.run({"image": np.stack([colour, 255 - colour])})["probabilities"]
    np.testing.assert_array_equal(many[:1], want)
    assert (many[1] != want[0]).any()
    with pytest.raises(UserError, match=r"\(RGB\)"):
        session.run(pixels[0])
    large = np.repeat(np.repeat(pixels, 3, axis=0), 5, axis=1)  # a picture of another size
    Image.fromarray(large).save(tmp_path / "large.png")
    fitted = session.run(large)["probabilities"]
    assert main(["run", str(quantized), "--input", str(tmp_path / "large.png"), "-o",
                 str(tmp_path / "z.npz")]) == 0  # fmt: skip
    np.testing.assert_array_equal(np.load(tmp_path / "z.npz")["probabilities"], fitted)
    out = tmp_path / "y.npz"
    assert main(["run", str(quantized), "--input", str(picture), "-o", str(out)]) == 0
    np.testing.assert_array_equal(np.load(out)["probabilities"], want)
    assert main(["run", str(quantized), "--input", str(picture.parent), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["samples"] == len(list(picture.parent.glob("*.png")))


def test_names_of_classes_are_recorded_where_they_are_the_models(quantized):
    settings = read_file(quantized).provenance.settings
    assert class_names(settings) == tuple(f"digit{i}" for i in range(10))


@pytest.mark.parametrize("words", [["--fit", "letterbox:300"], ["--fit", "crop:3"]])
def test_a_fit_is_recorded_and_a_wrong_one_refused(digits, pictures, tmp_path, capsys, words):
    command = ["quantize", digits / "digits.onnx", "--calib", pictures, "--limit", "4",
               "-o", tmp_path / "m.edge", "--observer", "minmax"]  # fmt: skip
    command = [str(w) for w in command]
    assert main([*command, *words]) == 2
    assert "letterbox:114" in capsys.readouterr().err
    if words[1].startswith("crop"):
        assert main([*command, "--preprocess", "0..1", "--fit", "letterbox:7"]) == 0
        made = preprocessing_of(read_file(tmp_path / "m.edge").provenance, "m")["image"]
        assert (made.fit, made.fill) == ("letterbox", 7) and "8x8, letterbox" in made.words


def test_arrays_record_only_what_is_declared(digits, tmp_path):
    command = ["quantize", digits / "digits.onnx", "--calib", digits / "calib.npz", "--limit", "4",
               "-o", tmp_path / "m.edge", "--observer", "minmax"]  # fmt: skip
    command = [str(w) for w in command]
    assert main(command) == 0
    assert "preprocessing" not in read_file(tmp_path / "m.edge").provenance.settings
    with pytest.raises(UserError, match="expected float32"):
        edgekit.Session(tmp_path / "m.edge").run(np.zeros((1, 1, 8, 8), np.uint8))
    assert main([*command, "--preprocess", "0..1", "--strip"]) == 0
    made = preprocessing_of(read_file(tmp_path / "m.edge").provenance, "m")
    assert made["image"].scale == 1 / 255
    assert b"preprocessing" not in strip((tmp_path / "m.edge").read_bytes())


def test_a_preset_goes_with_no_numbers(digits, tmp_path, capsys):
    command = ["quantize", digits / "digits.onnx", "--calib", digits / "calib.npz",
               "--preprocess", "0..1", "--mean", "0.5"]  # fmt: skip
    assert main([str(w) for w in command]) == 2
    assert "--preprocess replaces" in capsys.readouterr().err
    with pytest.raises(UserError, match="imagenet"):
        preset("nope")
    with pytest.raises(CalibrationError, match="3 values"):
        Preprocessing.of(preset("imagenet"), InputSpec("x", (1, 1, 8, 8), np.dtype("f4")))
