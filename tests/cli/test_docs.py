"""Every `edgekit` line of the docs is one that the command takes: options, arguments, choices."""

import re
import shlex
import subprocess
from pathlib import Path

import click
import pytest

from edgekit import targets
from edgekit.toolkit.cli.main import cli
from edgekit.toolkit.device.backend import settings_of

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "runtime_c/README.md"]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]

BLOCK = re.compile(r"^(?: {4}|\$ )(?:\$ )?(edgekit .*)$")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<!`)`(edgekit(?: [^`]*)?)`(?!`)")
OPTION = re.compile(r"(?<!`)`(--[a-z][a-z-]*)[^`]*`(?!`)")
OTHERS = {
    *("--again", "--bench", "--extended", "--ort", "--table", "--trials"),  # of programs in tests/
    *("--parallel", "--prefix", "--gc-sections", "--redefine-sym"),  # of compilers and their like
}
"""Options that pages name without saying of which command, and that are not edgekit's."""


def lines_of(page):
    """(whole line, command) of every command of a page; a whole line is given as it is typed."""
    text = page.read_text().replace("\\\n", " ")
    for block in FENCED.findall(text):
        for line in block.splitlines():
            if line.strip().startswith("edgekit "):
                yield True, line.strip()
    text = FENCED.sub("", text)
    for line in text.splitlines():
        if found := BLOCK.match(line):
            yield True, found[1]
    for command in INLINE.findall(text):
        yield False, " ".join(command.split())


def mistake_in(command, whole):
    """What is wrong with a command, in words; None if the command line takes it."""
    words = shlex.split(command.partition(" # ")[0])[1:]
    for end in ("|", ">", "&&", ";"):
        words = words[: words.index(end)] if end in words else words
    if not words:
        return None
    whole = whole and "..." not in words
    name, *arguments = words
    arguments = [w for w, before in zip(arguments, words, strict=False) if not left_out(w, before)]
    if name.startswith("-"):
        name, arguments = "", [name, *arguments]
    found = cli.get_command(click.Context(cli), name) if name else cli
    if found is None:
        return f"no command '{name}'"
    try:
        with found.make_context(name, arguments) as context:
            return target_mistake(context.params)
    except click.exceptions.Exit:  # --help
        return None
    except click.MissingParameter as why:
        return why.format_message() if whole else None
    except click.ClickException as why:
        return why.format_message()


def left_out(word, before):
    """Whether a word stands for several; behind an option it stands for its value."""
    return word == "..." and not before.startswith("--")


def target_mistake(given):
    """What is wrong with --target and --set; names in capitals stand for any."""
    target = given.get("target")
    if target in (None, "...") or target.isupper() or target.startswith("serial:/dev/"):
        return None
    try:
        targets.load(target)
    except ValueError as why:
        return str(why)
    own = {k: v for k, v in (given.get("settings") or {}).items() if not k.isupper()}
    try:
        settings_of(targets.load(target), own)
    except Exception as why:
        return str(why)
    return None


def options(command):
    found = {name for option in command.params for name in option.opts}
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found |= options(command.get_command(context, name))
    return found | {"--help", "--version"}


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_command_of_a_page_is_one_that_edgekit_takes(page):
    wrong = {c: why for whole, c in lines_of(page) if (why := mistake_in(c, whole))}
    assert not wrong


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_option_that_a_page_names_exists(page):
    named = set(OPTION.findall(FENCED.sub("", page.read_text())))
    assert named <= options(cli) | OTHERS


def test_commands_are_found_in_blocks_fences_and_sentences(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "Say `edgekit ops`, or\n\n    edgekit run a.edge \\\n        --input b.npz  # so\n\n"
        "```sh\nedgekit targets --json | head\n```\nnot `edge` or edgekit\n"
    )
    assert sorted(c for _, c in lines_of(page)) == [
        "edgekit ops",
        "edgekit run a.edge          --input b.npz  # so",
        "edgekit targets --json | head",
    ]
    assert sum(len(list(lines_of(page))) for page in PAGES) > 50


@pytest.mark.parametrize(
    ("command", "whole", "said"),
    [
        ("edgekit bake m.onnx", True, "no command 'bake'"),
        ("edgekit run m.edge --inptu x.npz", True, "No such option"),
        ("edgekit run m.edge", True, "Missing option"),
        ("edgekit run m.edge extra --input x.npz", True, "unexpected extra argument"),
        ("edgekit quantize m.onnx --calib d --weights int5", True, "is not one of"),
        ("edgekit quantize m.onnx --calib d --max-bytes many", True, "write bytes as"),
        ("edgekit bench m.edge --target cortex_m5", True, "no target 'cortex_m5'"),
        ("edgekit bench m.edge --target cortex_m4 --set vec=8", True, "has no settings"),
        ("edgekit bench m.edge --target fpga_opencl --set vec=3", True, "must be one of"),
        ("edgekit check ... --vec 8", True, "No such option"),
    ],
)
def test_a_wrong_command_is_noticed(command, whole, said):
    assert said in mistake_in(command, whole)


@pytest.mark.parametrize(
    "command",
    [
        "edgekit",
        "edgekit --version",
        "edgekit quantize --help",
        "edgekit check ... --cpu neoverse-n1   # dot products",
        "edgekit bench MODEL.edge --target TARGET --json | head",
    ],
)
def test_a_right_command_is_taken(command):
    assert mistake_in(command, True) is None


def test_a_sentence_may_leave_out_what_a_line_must_have():
    assert mistake_in("edgekit run m.edge", False) is None
    assert "No such option" in mistake_in("edgekit run --inptu", False)


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_prose_is_wrapped(page):
    prose = FENCED.sub("", page.read_text()).splitlines()
    kept = ("|", "#", "    ", "<!--", "A peer is faster")
    assert not [line for line in prose if len(line) > 120 and not line.startswith(kept)]


NAMED = re.compile(r"`(\w[\w.]*(?:/[\w.]+)*)/?`")
FILE = re.compile(r"\.(?:c|cmake|def|fbs|h|jinja|md|py|sh|toml)$")


@pytest.mark.parametrize("page", ["adding-an-op.md", "adding-a-target.md"])
def test_files_that_guides_name_are_there(page):
    """With a folder from the root, runtime_c or toolkit; without one, anywhere."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    names = {Path(line).name for line in listed.stdout.splitlines()}
    inside = ("runtime_c", "runtime_c/include", "runtime_c/src", "toolkit", "toolkit/ops")
    bases = [ROOT, *(ROOT / folder for folder in inside)]
    named = {n for n in NAMED.findall((ROOT / "docs" / page).read_text()) if "NAME" not in n}
    files = {name for name in named if FILE.search(name) and "/" not in name}
    paths = {name for name in named if "/" in name}
    assert len(files) > 3 and len(paths) > 10
    assert files - names == set()
    assert {path for path in paths if not any((b / path).exists() for b in bases)} == set()
