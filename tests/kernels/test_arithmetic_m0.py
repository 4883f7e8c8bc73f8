"""Division, long products and shifts of targets/cortex_m/m0 against Python's integers."""

import itertools
import random
import re
import subprocess
from pathlib import Path

import pytest

from edgekit import targets
from edgekit.toolkit.device.process import find
from edgekit.toolkit.device.project import write_linker_script

CC = "arm-none-eabi-gcc"
M0 = targets.FOLDER / "cortex_m" / "m0"
CHECK = Path(__file__).parent / "bare_metal" / "check_arithmetic.c"
FUNCTIONS = ("lmul", "llsl", "lasr", "uidiv", "uidivmod", "idiv", "idivmod")
NAMES = {f"__aeabi_{f}" for f in FUNCTIONS}
FLAGS = "-mcpu=cortex-m0plus -mthumb -O2 -Wall -Wextra -Werror -ffunction-sections"
LINK = "-nostartfiles --specs=nano.specs --specs=nosys.specs -Wl,--gc-sections"
WORD, LONG = (1 << 32) - 1, (1 << 64) - 1

pytestmark = pytest.mark.skipif(
    not (find(CC) and find("qemu-system-arm")),
    reason="needs gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm",
)


def must(*command):
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def edges(bits):
    """Zero, and on both sides of each power of two and of its negative."""
    near = {(1 << k) + d for k in range(bits) for d in (-1, 0, 1)}
    return sorted({v & ((1 << bits) - 1) for v in near | {-v for v in near}})


def signed(value, bits):
    return value - (1 << bits) if value >> (bits - 1) else value


def divided(name, a, b):
    """What the run-time ABI puts into r1:r0."""
    if name.startswith("i"):
        a, b = signed(a, 32), signed(b, 32)
    q = 0 if b == 0 else abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)
    rest = a - q * b
    return (rest & WORD) << 32 | q & WORD if name.endswith("mod") else q & WORD


def cases(by_zero):
    """(function, a, b, wanted): all pairs of edges, and random numbers of random lengths."""
    rng = random.Random(1)

    def any_of(bits):
        return rng.getrandbits(rng.randint(1, bits)) * rng.choice((1, -1)) & ((1 << bits) - 1)

    words = [*itertools.product(edges(32)[::2], edges(32)[1::2])]
    words += [(a, b) for a in edges(32) for b in (0, 1, WORD, 1 << 31)]
    words += [(any_of(32), any_of(32)) for _ in range(6000)]
    for name, (a, b) in itertools.product(FUNCTIONS[3:], words):
        if b or by_zero:
            yield name, a, b, divided(name, a, b)
    longs = [*itertools.product(edges(64)[::4], edges(64)[1::4])]
    longs += [(any_of(64), any_of(64)) for _ in range(6000)]
    for a, b in longs:
        yield "lmul", a, b, a * b & LONG
    for a, n in itertools.product([any_of(64) for _ in range(40)] + edges(64)[::8], range(64)):
        yield "llsl", a, n, a << n & LONG
        yield "lasr", a, n, signed(a, 64) >> n & LONG


@pytest.fixture(scope="module", params=["alone", "beside libgcc"])
def program(request, tmp_path_factory):
    """The test linked with our functions, or with a signed division of libgcc's as well."""
    folder = tmp_path_factory.mktemp("arithmetic")
    write_linker_script(folder, targets.load("cortex_m0plus"))
    alone = request.param == "alone"
    rows = (
        f"{{{FUNCTIONS.index(f)}, {a}u, {b}u, {w}u}},\n".replace("u", "ull")
        for f, a, b, w in cases(alone)
    )
    (folder / "cases.h").write_text("".join(rows))
    ours = folder / "arithmetic.o"
    must(find(CC), *FLAGS.split(), "-c", M0 / "arithmetic.c", "-o", ours)
    must(find("arm-none-eabi-ar"), "rc", folder / "libours.a", ours)
    libgcc = must(find(CC), *FLAGS.split(), "-print-libgcc-file-name").strip()
    must(find("arm-none-eabi-ar"), "x", libgcc, "_divsi3.o", "--output", folder)
    libraries = ["-lours"] if alone else [folder / "_divsi3.o", "-lours"]
    folders = [f"-I{targets.FOLDER / 'runner'}", f"-I{folder}", f"-L{folder}"]
    sources, out = [CHECK, M0.parent / "start.c"], folder / "check"
    command = [find(CC), *FLAGS.split(), *folders, *sources, *libraries, *LINK.split()]
    must(*command, "-T", folder / "link.ld", "-o", out)
    return alone, out


def test_the_functions_agree_with_pythons_integers(program):
    alone, out = program
    listed = must(find("arm-none-eabi-nm"), out)
    weak = NAMES & set(re.findall(r" W (__aeabi_\w+)", listed))
    assert weak == NAMES - (set() if alone else {"__aeabi_idiv", "__aeabi_idivmod"})
    command = [find("qemu-system-arm"), "-M", targets.load("cortex_m0plus").machine]
    command += ["-display", "none", "-monitor", "none", "-serial", "none"]
    command += ["-semihosting-config", "enable=on,target=native,arg=check"]
    assert "agrees" in must(*command, "-kernel", out)
