"""No bytes at all can crash the runtime: mutated files are opened and run under sanitizers."""

import fcntl
import gzip
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from edgekit.runtime_c import SOURCE
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.format.schema import DType
from edgekit.toolkit.format.writer import write
from edgekit.toolkit.runtime import Model

from . import same_size

HERE = Path(__file__).parent
# EDGEKIT_FUZZ_ROUNDS=1000000 pytest tests/fuzz: a longer search, from another seed.
ROUNDS = int(os.environ.get("EDGEKIT_FUZZ_ROUNDS", "4000"))
SEED = os.environ.get("EDGEKIT_FUZZ_SEED", "1")


def must(command, cwd):
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, errors="replace")
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-6000:]}"
    return done.stdout


def build_fuzzer(build, program):
    compiler, cmake = shutil.which("gcc"), shutil.which("cmake")
    if not compiler or not cmake:
        pytest.skip("needs gcc and cmake")
    sanitize = "-fsanitize=address,undefined -fno-sanitize-recover=all -g1 -O1"
    must(
        [cmake, "-S", SOURCE, "-B", build, f"-DCMAKE_C_COMPILER={compiler}",
         "-DCMAKE_BUILD_TYPE=None", f"-DCMAKE_C_FLAGS={sanitize}",
         f"-DEDGEKIT_CUSTOM={HERE / 'custom_op.c'}"],
        build,
    )  # fmt: skip
    must([cmake, "--build", build, "--target", "edgekit", "-j", "2"], build)
    must(
        [compiler, *sanitize.split(), "-std=c11", "-Wall", "-Wextra", "-Werror",
         f"-I{SOURCE / 'include'}", HERE / "fuzz_model.c", build / "libedgekit.a", "-lm",
         "-o", program],
        build,
    )  # fmt: skip


@pytest.fixture(scope="module")
def fuzzer(tmp_path_factory):
    """The runtime and the fuzzer, built with the address and undefined-behaviour sanitizers."""
    base = tmp_path_factory.getbasetemp()
    # Workers of pytest-xdist share what is one level up, and one of them builds for all.
    build = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "fuzzer"
    build.mkdir(exist_ok=True)
    program = build / "fuzz_model"
    with (build / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            build_fuzzer(build, program)
    return program


def whole_models():
    """What the toolkit made of small networks."""
    paths = sorted((HERE.parent / "golden" / "models").rglob("*.edge.gz"))
    assert paths
    return {path.name.split(".")[0]: gzip.decompress(path.read_bytes()) for path in paths}


@pytest.fixture(scope="module")
def files(corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    paths = []
    for name, data in corpus.files().items():
        paths.append(folder / f"{name}.edge")
        paths[-1].write_bytes(data)
    return paths


@pytest.fixture(scope="module")
def integers(corpus, tmp_path_factory):
    """Files without any float: of each kind, of outputs as large as inputs, and whole models."""
    found = {**corpus.files(), **whole_models()}
    for name in corpus.CASES:
        found[f"{name}-same-size"] = write(same_size.model(corpus, name))
    folder = tmp_path_factory.mktemp("integers")
    paths = []
    for name, data in found.items():
        model = read(data)
        floats = any(t.dtype in (DType.Float32, DType.Float16) for t in model.tensors)
        if model.target == "generic" and not floats:
            paths.append(folder / f"{name}.edge")
            paths[-1].write_bytes(data)
    return paths


def counts(said):
    """Of mutants of each file that opened."""
    return [int(line.split()[0]) for line in said.splitlines()]


def test_the_corpus_is_valid(files):
    for path in files:
        Model(path)


def test_mutated_files_do_no_harm(fuzzer, files, tmp_path):
    said = must([fuzzer, "mutate", SEED, str(ROUNDS), *files], tmp_path)
    assert min(counts(said)) > 0.02 * ROUNDS, "the mutations are too wild to reach the operators"


def test_mutated_integer_files_give_the_same_bytes_with_every_table(fuzzer, integers, tmp_path):
    """What opens gives the reference's bytes, whatever the session's memory held.

    So it does where weights make sums wrap, which the verifier does not rule out: all tables
    that run on this machine wrap alike.
    """
    rounds = ROUNDS // 4
    said = must([fuzzer, "compare", SEED, str(rounds), *integers], tmp_path)
    assert min(counts(said)) > 0.02 * rounds, "the mutations are too wild to reach the operators"


def test_every_truncation_does_no_harm(fuzzer, files, tmp_path):
    must([fuzzer, "truncate", *(p for p in files if p.stat().st_size < 1100)], tmp_path)


def test_what_once_crashed_does_no_harm(fuzzer, files, tmp_path):
    found = sorted((HERE / "regressions").glob("*.edge"))
    must([fuzzer, "replay", *files, *found], tmp_path)
