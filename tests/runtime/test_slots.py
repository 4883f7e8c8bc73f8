"""The users that kernels.def declares of each kernel, against what the compiled operators load."""

import platform
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from edgekit.runtime_c import SOURCE

INCLUDE = SOURCE / "include" / "edgekit"
BASE, STEP = 0x35A10000, 0x10000  # numbers that no operator computes with
ENTRY = re.compile(r"(KERNEL|EXTRA|PACKING)\(([a-z0-9_]+), (?:\([^()]*\)|\w+), ([\w ]+)\)")

pytestmark = pytest.mark.skipif(
    not shutil.which("gcc") or platform.machine() != "x86_64", reason="needs gcc for x86-64"
)


def must(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def users_of():
    """The bodies that kernels.def declares, of each kernel; a packing is pack_KERNEL."""
    text = re.sub(r"[ \\\n]+", " ", (INCLUDE / "kernels.def").read_text())
    found = {
        ("pack_" if kind == "PACKING" else "") + name: set(users.split())
        for kind, name, users in ENTRY.findall(text)
    }
    assert len(found) == len(re.findall(r"(?<= )(?:KERNEL|EXTRA|PACKING)\([a-z]", text))
    return found


def bodies():
    """(name, file, flags) of all that an operator is compiled to."""
    format_h = (INCLUDE / "format.h").read_text()
    files = {file.stem: file for file in (SOURCE / "src" / "ops").glob("*/*.c")}
    for form, may_be_coded in re.findall(r"X\(\w+, [01], \w+, (\w+), ([01])\)", format_h):
        source, flags = files.get(form), []
        if source is None:
            base, _, element = form.rpartition("_")
            source, flags = files[base], [f"-DEK_ELEMENT={element}"]
        yield form, source, flags
        if may_be_coded == "1":
            yield f"{form}_coded", source, [*flags, "-DEK_CODED"]
    weights = SOURCE / "src" / "weights"
    yield "nibbles", weights / "nibbles.c", []
    for element in ("s8", "s16"):
        yield f"blocks_{element}", weights / "blocks.c", [f"-DEK_ELEMENT={element}"]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """The members of ek_kernels that each body loads, itself or by what decodes blocks for it.

    They are compiled with a kernels.def that puts members far apart, so that an offset in the
    instructions tells which member it is.
    """
    folder = tmp_path_factory.mktemp("slots")
    (folder / "edgekit").mkdir()
    text = (INCLUDE / "kernels.def").read_text()
    names = [name for _, name, _ in ENTRY.findall(re.sub(r"[ \\\n]+", " ", text))]
    pads = iter(range(len(names)))
    text = re.sub(
        r"^    (?=(?:KERNEL|EXTRA|PACKING)\()",
        lambda _: f"    VALUE(ek_apart, apart_{next(pads)}, 0) ",
        text,
        flags=re.MULTILINE,
    )
    apart = f"typedef uint8_t ek_far[{BASE}], ek_apart[{STEP}];\n"
    text = text.replace("/* clang-format off */\n", apart, 1)
    text = re.sub(r"(#define EK_KERNELS\(.*\) *)\\", r"\1 VALUE(ek_far, far, 0) \\", text)
    (folder / "edgekit" / "kernels.def").write_text(text)
    flags = ["-std=c11", f"-I{folder}", f"-I{SOURCE / 'include'}", f"-I{SOURCE / 'src'}"]

    members = [n for n in users_of() if not n.startswith("pack_")]
    members += re.findall(r"VALUE\(\w+, ([a-z0-9_]+),", (INCLUDE / "kernels.def").read_text())
    members += [f"{p}_{n[5:]}" for n in users_of() for p in ("pack", "packed") if n[:5] == "pack_"]
    kernels = set(users_of())
    lines = "".join(f'    printf("{m} %zu\\n", offsetof(ek_kernels, {m}));\n' for m in members)
    (folder / "offsets.c").write_text(
        f'#include <stdio.h>\n#include "edgekit/kernels.h"\nint main(void)\n{{\n{lines}}}\n'
    )
    must("gcc", *flags, str(folder / "offsets.c"), "-o", str(folder / "offsets"))
    printed = must(str(folder / "offsets")).splitlines()
    member_at = {int(offset): member for member, offset in (line.split() for line in printed)}

    def loads(body):
        name, source, more = body
        command = ("gcc", *flags, *more, "-O1", "-DEK_NO_PACKERS", "-S", str(source), "-o", "-")
        code = must(*command)
        numbers = {int(number) for number in re.findall(r"\b[0-9]{9}\b", code)}
        far = {n for n in numbers if BASE + STEP <= n < BASE + STEP * (len(names) + 2)}
        assert far <= set(member_at), f"{name} loads at {sorted(map(hex, far - set(member_at)))}"
        blocks = re.search(r"call\s+ek_block_load(?:_next)?_(s8|s16)\b", code)
        return name, {member_at[n] for n in far} & kernels, blocks and f"blocks_{blocks[1]}"

    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(loads, bodies()))
    own = {name: members for name, members, _ in results}
    return {name: members | own.get(blocks, set()) for name, members, blocks in results}


def declared_by(body):
    """The slots that a body says to use: a coded one's are also those of the plain name."""
    names = {body, body.removesuffix("_coded")}
    return {slot for slot, users in users_of().items() if users & names}


def test_users_are_bodies_of_operators(loaded):
    for slot, users in users_of().items():
        assert users <= set(loaded), f"{slot} is used by {sorted(users - set(loaded))}"


def test_what_operators_load_is_declared_and_nothing_else(loaded):
    by_codec = loaded["nibbles"]
    for body, members in loaded.items():
        if body == "nibbles" or body.startswith("blocks_"):
            continue
        declared = declared_by(body)
        spare = declared - members - (by_codec if body.endswith("_coded") else set())
        assert not members - declared, f"{body} calls {sorted(members - declared)}: name it there"
        assert not spare, f"{body} never calls {sorted(spare)}"


def test_what_a_codec_calls_is_declared_of_operators_with_codecs_alone(loaded):
    users = users_of()
    for slot in loaded["nibbles"]:
        assert users[slot], slot
        assert all(user.endswith("_coded") for user in users[slot]), f"{slot}: {users[slot]}"


def test_the_rest_of_the_runtime_calls_no_kernel_that_may_be_absent():
    """But for quantizing, which then calls the reference; registry.c makes the tables."""
    calls = re.compile(rf"(?:->|\.)({'|'.join(users_of())})\b")
    src = SOURCE / "src"
    for source in sorted([*src.glob("*.c"), *src.glob("model/*.c"), *src.glob("ops/*.c")]):
        called = set(calls.findall(source.read_text()))
        if source.name == "convert_f32.c":
            called -= {"quantize_f32_s8", "quantize_f32_s16"}
        assert not called, f"{source.name} calls {sorted(called)}"
