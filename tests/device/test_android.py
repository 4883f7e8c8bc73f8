"""An Android library: its C compiles against jni.h and answers in a Java machine of this one."""

import os
import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import edgekit
from edgekit.calibration import ImageOptions
from edgekit.toolkit.cli import main
from edgekit.toolkit.device.build import build
from edgekit.toolkit.device.process import find
from edgekit.toolkit.errors import UserError

FLAGS = ["-std=c11", "-fPIC", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Isrc"]
JAVA = {"Long": "long", "Boolean": "boolean", "Int": "int", "String": "String", "": "void",
        "ByteBuffer": "java.nio.ByteBuffer", "FloatArray": "float[]", "ByteArray": "byte[]",
        "ShortArray": "short[]", "Array<String>": "String[]"}  # fmt: skip
USE = """
    public static void main(String[] words) throws Exception {
        DigitsModel net = new DigitsModel();
        long h = net.nativeOpen();
        System.out.println(net.nativeSelfTest(h));
        byte[] pixels = java.nio.file.Files.readAllBytes(java.nio.file.Path.of(words[0]));
        net.native_digits_input(h, pixels, 12, 20);
        net.nativeRun(h);
        for (float y : net.nativeRead(h, 0)) System.out.println(Float.floatToIntBits(y));
        float[] zeros = new float[64];
        net.nativeWrite(h, 0, zeros);
        System.out.println(net.nativeBuffer(h, false, 0).get(63));
        Runnable[] wrong = { () -> net.nativeRead(h, 1), () -> net.nativeWrite(h, 0, new float[3]),
            () -> net.native_digits_input(h, pixels, 12, 21), () -> net.nativeBuffer(h, true, -1) };
        for (Runnable r : wrong)
            try { r.run(); } catch (RuntimeException why) { System.out.println(why); }
        System.out.println(String.join(" ", net.nativeClasses()));
        net.nativeClose(h);
    }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory, digits):
    """(the folder, the model)"""
    folder = tmp_path_factory.mktemp("android")
    data = np.load(digits / "eval.npz")["image"]
    feeds = [{"image": x[None]} for x in data[:8]]
    image = ImageOptions(scale=1 / 255, fit="crop")
    edgekit.quantize(digits / "digits.onnx", feeds, folder / "digits.edge", observer="minmax",
                     image=image, on_low_accuracy="warn")  # fmt: skip
    build(folder / "digits.edge", "generic", folder / "lib", layout="android")
    return folder / "lib", folder / "digits.edge"


def jni():
    """Where jni.h is, and its javac; skips without."""
    javac = find("javac")
    if not javac:
        pytest.skip("javac is not installed (package default-jdk-headless)")
    home = Path(javac).resolve().parents[1]
    if not (home / "include/jni.h").is_file():
        pytest.skip("jni.h is not installed (package default-jdk-headless)")
    return home / "include"


def test_the_project_names_what_it_builds(library):
    folder, _ = library
    cmake = (folder / "CMakeLists.txt").read_text()
    there = {p.relative_to(folder).as_posix() for p in folder.rglob("*.c")} - {"example/main.c"}
    assert set(re.findall(r"^  (\S+\.c)$", cmake, re.M)) == there
    assert ElementTree.parse(folder / "AndroidManifest.xml").getroot().tag == "manifest"
    gradle = (folder / "build.gradle.kts").read_text()
    assert 'listOf("arm64-v8a", "armeabi-v7a", "x86", "x86_64")' in gradle
    for named in ("CMakeLists.txt", "AndroidManifest.xml", "kotlin"):
        assert f'"{named}"' in gradle and (folder / named).exists()


def java_of(kotlin):
    """A class in Java with the native methods of the one in Kotlin."""
    assert "package edgekit.digits_model" in kotlin and "class DigitsModel" in kotlin
    methods = ""
    for name, given, gives in re.findall(
        r"external fun (\w+)\((.*)\)(?:: (.*?)\??)?$", kotlin, re.M
    ):
        pairs = (one.split(": ") for one in given.split(", ") if one)
        words = ", ".join(f"{JAVA[kind]} {what}" for what, kind in pairs)
        methods += f"    native {JAVA[gives]} {name}({words});\n"
    load = '    static { System.loadLibrary("digits"); }\n'
    return f"package edgekit.digits_model;\npublic class DigitsModel {{\n{methods}{load}{USE}}}\n"


def compiled(folder, compiler, *words):
    include = jni()
    command = [compiler, *FLAGS, f"-isystem{include}", f"-isystem{include / 'linux'}", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]


def test_clang_as_of_an_ndk_takes_the_c_of_jni(library):
    if not find("clang-19"):
        pytest.skip("clang-19 is not installed")
    words = ["--target=aarch64-linux-gnu", "-isystem/usr/aarch64-linux-gnu/include"]
    compiled(library[0], "clang-19", *words, "-fsyntax-only", "jni/digits_jni.c")


def test_java_gets_the_answers_of_python(library, tmp_path):
    folder, model = library
    sources = re.findall(r"^  (\S+\.c)$", (folder / "CMakeLists.txt").read_text(), re.M)
    compiled(folder, "gcc", "-shared", *sources, "-lm", "-o", tmp_path / "libdigits.so")
    source = tmp_path / "edgekit/digits_model/DigitsModel.java"
    source.parent.mkdir(parents=True)
    source.write_text(java_of((folder / "kotlin/digits.kt").read_text()))
    subprocess.run(["javac", source], cwd=tmp_path, check=True)
    pixels = np.random.default_rng(0).integers(0, 256, (12, 20, 3)).astype(np.uint8)
    (tmp_path / "pixels").write_bytes(pixels.tobytes())
    java = [
        "java",
        "-Xcheck:jni",
        "-cp",
        ".",
        "-Djava.library.path=.",
        "edgekit.digits_model.DigitsModel",
    ]
    said = subprocess.run([*java, "pixels"], cwd=tmp_path, capture_output=True, text=True,
                          env=os.environ, check=True).stdout.splitlines()  # fmt: skip
    session = edgekit.Session(model)
    (want,) = session.run(pixels).values()
    assert said[0] == "null"
    assert [int(w) for w in said[1 : want.size + 1]] == want.ravel().view(np.int32).tolist()
    zero = session.to_raw({"image": np.zeros((1, 1, 8, 8), np.float32)})[0]
    assert int(said[want.size + 1]) == zero.ravel()[63]
    words = "\n".join(said[want.size + 2 :])
    for text in ("no such output", "another length than the input", "3 * height * width bytes"):
        assert text in words
    assert "WARNING" not in words


def test_a_microcontroller_has_no_android(library, tmp_path, capsys):
    words = ["build", library[1], "--target", "cortex_m4", "-o", tmp_path, "--layout", "android"]
    assert main([str(w) for w in words]) == 2
    assert "aarch64_linux, generic, x86_64, not cortex_m4" in capsys.readouterr().err
    with pytest.raises(UserError, match="not riscv64_linux"):
        build(library[1], "riscv64_linux", tmp_path / "x", layout="android")
