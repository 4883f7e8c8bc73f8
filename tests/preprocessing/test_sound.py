"""Integer front ends against float64 by scipy, and sounds as every command takes them."""

import json

import numpy as np
import pytest
from scipy.io import wavfile

import edgekit
from edgekit.calibration import CalibrationError, InputSpec, open_samples
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.preprocessing import (
    SOUND_PRESETS,
    SoundPreprocessing,
    SoundReader,
    agreed,
    front_end,
    preset,
)
from edgekit.toolkit.preprocessing.record import recorded
from edgekit.toolkit.preprocessing.sound import real_features, samples_for, tables_of
from edgekit.toolkit.preprocessing.sound.arithmetic import log2

from . import clips, float_front_end

FRONTS = {
    "log-mel": ("log-mel", 72.0),
    "mfcc": ("mfcc:log=log10,mean=-3,std=2.5", 72.0),
    "tf-mfcc": ("tf-mfcc", 70.0),
    "torchaudio": ("torchaudio", 72.0),
    "librosa": ("librosa:mels=64", 65.0),
    "small": ("log-mel:rate=8000,window=25ms,stride=10ms,fft=256,mels=20,spectrum=magnitude,"
              "window-function=hamming,lower=100,upper=3800,mel=slaney", 70.0),
}  # fmt: skip


def decibels(mine, right):
    return 10 * np.log10((right**2).sum() / ((mine - right) ** 2).sum())


@pytest.mark.parametrize("name", FRONTS)
def test_features_are_those_of_scipy(name):
    """Broadband sounds (noise, pulses, speech-like) to the SQNR given; all kinds to 30 dB each."""
    text, least = FRONTS[name]
    front, frames = front_end(text), 20
    samples = max(front.clip, samples_for(front, frames))
    pairs = {}
    for seed in range(24):
        pcm = clips.clip(seed, samples, front.rate)
        right = float_front_end.features(front, pcm, frames)
        pairs.setdefault(seed % 8, []).append((real_features(front, pcm, frames), right))
    found = {k: decibels(*map(np.array, zip(*v, strict=True))) for k, v in pairs.items()}
    assert min(found[k] for k in (1, 3, 4, 5, 6)) > least, found
    assert min(found[k] for k in (0, 2)) > 30, found  # tones: windows of 16 bits leak at -100 dB


def test_log2_is_that_of_floats():
    tables = tables_of(front_end("log-mel"))
    x = np.concatenate([np.arange(1, 5000), 2 ** np.arange(62), 3 * 2 ** np.arange(60) + 1])
    x = x.astype(np.int64)
    assert np.abs(log2(tables, x) / 65536 - np.log2(x.astype(float))).max() < 3e-5


def test_a_spec_is_a_preset_with_changes():
    front = front_end("mfcc:rate=8000,window=30ms,stride=0.02s,fft=256,coefficients=10,area=yes")
    assert (front.window, front.stride, front.coefficients, front.area) == (240, 160, 10, True)
    assert front_end("tf-mfcc") == SOUND_PRESETS["tf-mfcc"]
    for text, said in (
        ("nope", "no preset 'nope'"),
        ("mfcc:windows=3", "no parameter 'windows'"),
        ("mfcc:kind=pcm", "no parameter 'kind'"),
        ("mfcc:fft=500", "power of 2"),
        ("mfcc:window=40ms", "window 640"),
        ("mfcc:mels=x", "invalid literal"),
        ("mfcc:area=1", "neither yes nor no"),
        ("mfcc:log=log3", "not one of ln"),
        ("mfcc:offset=0", "offset 0"),
        ("mfcc:upper=9000", "upper 9000"),
        ("mfcc:coefficients=41", "coefficients 41"),
        ("log-mel:coefficients=4", "coefficients 4"),
        ("mfcc:std=0", "std 0"),
        ("pcm:rate=0", "rate 0"),
    ):
        with pytest.raises(UserError, match=said):
            front_end(text)


def spec_of(*shape):
    return InputSpec("x", shape, np.dtype(np.float32))


def test_features_find_their_places_in_the_input():
    front = front_end("tf-mfcc")
    pcm = clips.clip(4, 16000)
    rows = real_features(front, pcm, 49)
    for shape, want in (
        ((1, 49, 10, 1), rows),
        ((1, 490), rows),
        ((1, 1, 10, 49), rows.T),
        ((1, 10, 49), rows.T),
    ):
        made = SoundPreprocessing.of(front, spec_of(*shape))
        np.testing.assert_array_equal(made.values(pcm), want.reshape(shape))
        again = SoundPreprocessing.from_json(json.loads(json.dumps(made.to_json())))
        assert again == made and made.samples == 16000
    for shape in ((1, 48, 11), (2, 49, 10), (1, 7, 7, 10), (1, 60, 10)):
        with pytest.raises(CalibrationError, match=r"which does not fit|takes .* frames"):
            SoundPreprocessing.of(front, spec_of(*shape))


@pytest.mark.parametrize(
    "change", [{"shape": [1, 3]}, {"shape": "x"}, {"sound": {}}, {"sound": {"kind": "pcm"}}]
)
def test_a_damaged_record_is_refused(change):
    told = SoundPreprocessing.of(front_end("tf-mfcc"), spec_of(1, 49, 10)).to_json() | change
    with pytest.raises(ValueError, match="damaged"):
        recorded({"preprocessing": {"x": told}})


def test_a_contradiction_is_refused():
    made = {"x": SoundPreprocessing.of(front_end("tf-mfcc"), spec_of(1, 49, 10))}
    assert agreed(made, None, "f") == SoundReader(front_end("tf-mfcc"))
    assert agreed(made, None, "f", front_end("tf-mfcc")) == SoundReader(front_end("tf-mfcc"))
    for image, sound in ((preset("imagenet"), None), (None, front_end("mfcc"))):
        with pytest.raises(UserError, match="contradicts"):
            agreed(made, image, "f", sound)


def test_wav_of_other_rates_and_channels_is_made_fitting(tmp_path):
    reader, spec = SoundReader(front_end("pcm:rate=8000")), spec_of(1, 800)

    def read(rate, values):
        wavfile.write(tmp_path / "a.wav", rate, values)
        (feed,) = open_samples(tmp_path / "a.wav", [spec], reader)
        return feed["x"][0] * 32768

    tone = np.rint(8000 * np.sin(2 * np.pi * 440 * np.arange(900) / 8000)).astype(np.int16)
    np.testing.assert_array_equal(read(8000, tone), tone[:800])
    np.testing.assert_array_equal(read(8000, tone[:500]), np.pad(tone[:500], (0, 300)))
    two = np.stack([tone, np.zeros_like(tone)], axis=1)
    np.testing.assert_allclose(read(8000, two), tone[:800] / 2, atol=0.5)
    fast = 0.25 * np.sin(2 * np.pi * 440 * np.arange(44100) / 44100)
    slow = 0.25 * np.sin(2 * np.pi * 440 * np.arange(800) / 8000) * 32768
    found = read(44100, fast.astype(np.float32))
    assert np.abs(found - slow)[50:750].max() < 40


@pytest.fixture(scope="module")
def sounds(tmp_path_factory):
    """A network of MFCC to two classes, and clips of both in a folder each."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    folder = tmp_path_factory.mktemp("sounds")
    for i in range(16):
        to = folder / "clips" / ("high" if i % 2 else "low")
        to.mkdir(parents=True, exist_ok=True)
        t = np.arange(4000) / 8000
        tone = 0.3 * np.sin(2 * np.pi * (2500 if i % 2 else 300 + 10 * i) * t)
        tone += 0.05 * np.random.default_rng(i).standard_normal(4000)
        wavfile.write(to / f"{i}.wav", 8000, np.rint(tone * 32767).astype(np.int16))
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((24 * 8, 2)).astype(np.float32) / 50
    nodes = [
        helper.make_node("Flatten", ["x"], ["flat"]),
        helper.make_node("Gemm", ["flat", "w"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 24, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2])],
        [numpy_helper.from_array(weights, "w")],
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]),
              folder / "m.onnx")  # fmt: skip
    return folder


SPEC = "mfcc:rate=8000,window=200,stride=160,fft=256,mels=20,coefficients=8"


def test_every_command_applies_the_record(sounds, tmp_path, capsys):
    from edgekit.toolkit.cli import main

    edge, onnx, wavs = tmp_path / "m.edge", sounds / "m.onnx", sounds / "clips"
    command = ["quantize", onnx, "--calib", wavs, "--preprocess", SPEC, "-o", edge]
    assert main([*map(str, command), "--strip"]) == 0
    capsys.readouterr()
    for words in ([], ["--preprocess", SPEC]):
        command = ["check", edge, "--float", onnx, "--data", wavs, "--json", *words]
        assert main([str(w) for w in command]) == 0
        told = json.loads(capsys.readouterr().out)
        assert told["samples"] == 16 and told["outputs"][0]["sqnr_db"] > 25
    for words in (["--preprocess", "mfcc"], ["--preprocess", "imagenet"], ["--mean", "0.5"]):
        command = ["check", edge, "--float", onnx, "--data", wavs, *words]
        assert main([str(w) for w in command]) == 2
        assert "contradicts" in capsys.readouterr().err
    wav = min(wavs.rglob("*.wav"))
    out = tmp_path / "y.npz"
    assert main(["run", str(edge), "--input", str(wav), "-o", str(out)]) == 0
    session = edgekit.Session(edge)
    pcm = wavfile.read(wav)[1][: 23 * 160 + 200]
    want = np.load(out)["y"]
    np.testing.assert_array_equal(session.run(pcm)["y"], want)
    np.testing.assert_array_equal(session.run({"x": np.stack([pcm, pcm])})["y"][1:], want)
    features = SoundPreprocessing.of(front_end(SPEC), spec_of(1, 24, 8)).values(pcm)
    np.testing.assert_array_equal(session.run(features)["y"], want)
    with pytest.raises(UserError, match="give int16"):
        session.run(pcm[:-1])


def test_a_folder_of_sounds_needs_a_front_end(sounds, capsys):
    from edgekit.toolkit.cli import main

    command = ["quantize", sounds / "m.onnx", "--calib", sounds / "clips"]
    assert main([str(w) for w in command]) == 2
    assert "--preprocess mfcc" in capsys.readouterr().err
    assert main([*map(str, command), "--preprocess", "tf-mfcc"]) == 2
    assert "does not fit mfcc at 16000 Hz" in capsys.readouterr().err
