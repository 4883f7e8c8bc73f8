"""Packs and deltas: what comes out, what is refused, and how small they are."""

import os
import re
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import edgekit
from edgekit.runtime_c import SOURCE
from edgekit.toolkit.cli import main
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.runtime.updates import apply
from edgekit.toolkit.update import applied, header, made


def run(command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


RANDOM = np.random.default_rng(22)
NOISE = RANDOM.integers(0, 256, 3000, np.uint8).tobytes()
CASES = {
    "one byte": (b"x", b""),
    "one page": (NOISE[:256], b""),
    "noise": (NOISE, b""),
    "runs": (b"\0" * 70000 + b"abcd" * 999 + b"\xff" * 255, b""),
    "same": (NOISE, NOISE),
    "longer": (NOISE[:1000] + b"between" + NOISE[1000:], NOISE),
    "shorter": (NOISE[500:1200] + NOISE[2000:], NOISE),
    "of a byte": (NOISE, b"y"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_goes_in_comes_out_in_pieces_of_any_size(case):
    new, old = CASES[case]
    update = made(new, old)
    for piece in (1, 7, 4096):
        assert apply(update, old, len(new), piece) == new
    assert header(update, "u").new == sha256(new).hexdigest()
    assert made(new, old) == update


def test_a_file_larger_than_the_place_is_refused():
    assert apply(made(NOISE), b"", len(NOISE) - 1) is None


def test_a_moved_file_is_a_small_delta():
    assert len(made(NOISE[:1000] + b"between" + NOISE[1000:], NOISE)) < 200


def test_sha256_is_that_of_the_standard():
    """Sizes around the padding's: the digest in the header is hashlib's."""
    for size in (1, 54, 55, 56, 63, 64, 65, 119, 120, 128):
        assert apply(made(NOISE[:size]), b"", size) == NOISE[:size]


def test_no_damaged_update_counts():
    """Any damage: an error, or, past the last bit that matters, the right file."""
    new, old = CASES["longer"]
    update = made(new, old)
    for at in range(len(update)):
        for bit in (0, 7):
            bad = bytearray(update)
            bad[at] ^= 1 << bit
            assert apply(bytes(bad), old, len(new)) in (None, new)
        assert apply(update[:at], old, len(new)) is None
    assert apply(update + b"\0", old, len(new)) is None
    assert apply(update, old[:-1], len(new)) is None
    assert apply(update, old[:-1] + b"?", len(new)) is None


@pytest.mark.parametrize(("cpu", "most"), [("cortex-m4", 2048), ("cortex-m0plus", 2048)])
def test_the_decoder_is_at_most_2_kb_of_code(cpu, most, tmp_path):
    """With the flags of CMakeLists.txt; the state is asserted in update.c."""
    if not shutil.which("arm-none-eabi-gcc"):
        pytest.skip("needs arm-none-eabi-gcc")
    total = 0
    for name in ("update", "sha256"):
        out = tmp_path / f"{name}.o"
        flags = f"-mcpu={cpu} -mthumb -ffreestanding -fbuiltin -std=c11 -O3 -Os".split()
        include = [f"-I{SOURCE / 'include'}", f"-I{SOURCE / 'src'}"]
        source = SOURCE / "src" / "update" / f"{name}.c"
        run(["arm-none-eabi-gcc", *flags, *include, "-c", source, "-o", out])
        total += int(run(["arm-none-eabi-size", out]).split()[6])
    assert 1000 < total <= most


def test_mutants_are_clean_under_sanitizers(tmp_path):
    if not shutil.which("gcc"):
        pytest.skip("needs gcc")
    new, old = CASES["longer"]
    (tmp_path / "old").write_bytes(old)
    (tmp_path / "update").write_bytes(made(new[:1400] + b"0" * 900, old))
    sources = [SOURCE / "src" / "update" / f"{name}.c" for name in ("update", "sha256")]
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-g1", "-O1"]
    flags += ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    include = [f"-I{SOURCE / 'include'}", f"-I{SOURCE / 'src'}"]
    program = tmp_path / "fuzz"
    run(["gcc", *flags, *include, Path(__file__).parent / "fuzz_update.c", *sources, "-o", program])
    rounds = os.environ.get("EDGEKIT_FUZZ_ROUNDS", "4000")
    good = int(run([program, tmp_path / "old", tmp_path / "update", rounds]))
    assert 0 < good < int(rounds) / 2


def test_a_pack_of_a_model_is_smaller_and_whole(digits_edge, tmp_path, capsys):
    packed, back = tmp_path / "digits.pack", tmp_path / "back.edge"
    assert main(["pack", str(digits_edge), "-o", str(packed)]) == 0
    assert "% of" in capsys.readouterr().err
    assert packed.stat().st_size < digits_edge.stat().st_size
    assert main(["unpack", str(packed), "-o", str(back)]) == 0
    assert back.read_bytes() == digits_edge.read_bytes()


def test_mistakes_are_said(digits_edge, tmp_path, capsys):
    old, update, out = tmp_path / "old.edge", tmp_path / "update", tmp_path / "out.edge"
    content = digits_edge.read_bytes()
    old.write_bytes(content)
    assert main(["diff", str(old), str(digits_edge), "-o", str(update)]) == 0
    wrong = content[:-1] + bytes([content[-1] ^ 1])
    old.write_bytes(wrong)
    capsys.readouterr()
    cases = {
        r"needs the old file, SHA-256 \w{12}\.\.\.; give it with --old": ["unpack", update],
        rf"is {sha256(wrong).hexdigest()[:12]}\.\.\., not {sha256(content).hexdigest()[:12]}": [
            *("unpack", update, "--old", old)
        ],
        "is not a pack or an update; create one with edgekit pack": ["unpack", old],
        "not an .edge file": ["pack", update],
    }
    for said, command in cases.items():
        assert main([*map(str, command), "-o", str(out)]) == 2
        assert re.search(said, " ".join(capsys.readouterr().err.split()))
        assert not out.exists()
    update.write_bytes(update.read_bytes()[:-1])
    assert main(["unpack", str(update), "-o", str(out), "--old", str(digits_edge)]) == 2
    assert "is damaged or incomplete" in capsys.readouterr().err


def trained(images, labels, epochs):
    """Weights of a network of two layers after each epoch of gradient descent."""
    random = np.random.default_rng(0)
    a, b = random.normal(0, 0.15, (64, 64)), random.normal(0, 0.15, (64, 10))
    for _ in range(epochs):
        for batch in np.array_split(random.permutation(len(images)), len(images) // 16):
            x = images[batch]
            h = np.maximum(x @ a, 0)
            p = np.exp(h @ b - (h @ b).max(1, keepdims=True))
            error = (p / p.sum(1, keepdims=True) - np.eye(10)[labels[batch]]) / len(batch)
            a, b = a - 0.05 * x.T @ ((error @ b.T) * (h > 0)), b - 0.05 * h.T @ error
        yield a.astype(np.float32), b.astype(np.float32)


@pytest.fixture(scope="module")
def delta(digits, tmp_path_factory):
    """A folder with net.onnx, trained for one more epoch than old.edge, and both files' bytes."""
    folder = tmp_path_factory.mktemp("delta")
    data = np.load(digits / "eval.npz")
    images, labels = data["image"].reshape(-1, 64), data["label"]
    images = (images - images.mean()) / images.std()
    files = []
    for name, weights in zip(("old", "new"), list(trained(images, labels, 21))[-2:], strict=True):
        nodes = [
            helper.make_node("MatMul", ["x", "a"], ["h"]),
            helper.make_node("Relu", ["h"], ["r"]),
            helper.make_node("MatMul", ["r", "b"], ["y"]),
        ]
        io = [
            helper.make_tensor_value_info(tensor, TensorProto.FLOAT, [1, n])
            for tensor, n in (("x", 64), ("y", 10))
        ]
        constants = [numpy_helper.from_array(w, n) for w, n in zip(weights, "ab", strict=True)]
        graph = helper.make_graph(nodes, "g", io[:1], io[1:], constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(model, folder / "net.onnx")
        np.savez(folder / "calib.npz", x=images[:64].astype(np.float32))
        out = folder / f"{name}.edge"
        edgekit.quantize(folder / "net.onnx", folder / "calib.npz", out, observer="minmax")
        files.append(out.read_bytes())
    return folder, *files


def test_a_delta_of_one_more_epoch_is_at_most_40_percent(delta):
    _, old, new = delta
    assert old != new
    update = made(new, old)
    assert applied(update, old, "update") == new
    assert len(update) <= 0.4 * len(new)


def test_scales_that_are_kept_make_the_delta_smaller_at_the_same_accuracy(delta):
    """Channels, ranges and scales are those of the old file; integers move where that pays."""
    folder, old, new = delta
    options = {"like": folder / "old.edge", "observer": "minmax"}
    done = edgekit.quantize(folder / "net.onnx", folder / "calib.npz", folder / "l.edge", **options)
    kept = (folder / "l.edge").read_bytes()
    update, anew = made(kept, old), made(new, old)
    assert applied(update, old, "update") == kept
    assert len(update) < 0.8 * len(anew)
    was, now = read(old), read(kept)
    assert [(t.scale, t.zero_point) for t in was.tensors] == [
        (t.scale, t.zero_point) for t in now.tensors
    ]
    assert done.sqnr_db > 30
    assert now.provenance.settings["like"] == sha256(old).hexdigest()


def test_only_a_file_with_names_has_scales_to_keep(delta, capsys):
    folder, _, _ = delta
    net, calib, out = folder / "net.onnx", folder / "calib.npz", folder / "bare.edge"
    edgekit.quantize(net, calib, out, observer="minmax", strip=True)
    command = ["quantize", net, "--calib", calib, "-o", folder / "x.edge", "--like", out]
    assert main(list(map(str, command))) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "bare.edge has no operator names" in said and "without --strip" in said
