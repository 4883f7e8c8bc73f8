"""An accelerator is a folder: what the commands ask of its backend, shown with one made here."""

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from edgekit import targets
from edgekit.toolkit.cli import main
from edgekit.toolkit.device.backend import Findings, Setting, Table, backend_of, settings_of
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.runtime import Session

FACTS = """
isa = "abacus"
tables = []
backend = "frame"
[target.toy]
description = "An accelerator of wood"
[target.toy_host]
description = "The same table without its frame"
backend = ""
"""


def positive(word):
    if not word.isdigit() or int(word) < 1:
        raise ValueError("must be a positive number")
    return int(word)


class Abacus:
    """Runs on this machine, and keeps what it was asked."""

    settings = (
        Setting("beads", "beads on a wire", 10, positive),
        Setting("wires", "wires of the frame", 7, positive),
    )

    def __init__(self):
        self.asked = []

    def devices(self):
        raise UserError("no abacus here")

    def session(self, source, device, settings, max_memory):
        self.asked.append(("session", device, settings))
        return Session(source, max_memory=max_memory)

    def bench(self, model, device, settings):
        self.asked.append(("bench", device, settings))
        return Findings({"beads": settings["beads"]}, (), ("moved by hand",))

    def build(self, model, output, settings, *, force):
        self.asked.append(("build", force, settings))
        rows = Table("frame", ("~part", ">count"), [("bead", "70")])
        return Findings({}, (rows,), (), kept=["main.c"])


@pytest.fixture
def abacus(monkeypatch, tmp_path):
    family = tmp_path / "abacus"
    family.mkdir()
    (family / "target.toml").write_text(FACTS)
    monkeypatch.setattr(targets, "FOLDER", tmp_path)
    backend = Abacus()
    module = f"{targets.__name__}.abacus.frame"
    monkeypatch.setitem(sys.modules, module, SimpleNamespace(BACKEND=backend))
    return backend


def test_a_backend_is_found_by_the_facts_of_its_target(abacus):
    assert backend_of(targets.load("toy")) is abacus
    assert backend_of(targets.load("toy_host")) is None


def test_settings_are_those_given_and_the_defaults_of_the_others(abacus):
    toy = targets.load("toy")
    assert settings_of(toy, None) == {"beads": 10, "wires": 7}
    assert settings_of(toy, {"wires": "9"}) == {"beads": 10, "wires": 9}
    for given, words in (
        ({"balls": "3"}, r"toy has no such setting; there are: beads, wires"),
        ({"beads": "0"}, r"--set beads=0: must be a positive number"),
    ):
        with pytest.raises(UserError, match=words):
            settings_of(toy, given)
    with pytest.raises(UserError, match="toy_host has no settings"):
        settings_of(targets.load("toy_host"), {"beads": "3"})


def test_commands_hand_over_device_and_settings(abacus, model_file, tmp_path, capsys):
    path, feeds = model_file("digits")
    (name,) = (io.name for io in Session(path).inputs)
    np.savez(tmp_path / "x.npz", **{name: np.zeros(feeds[0][name].shape, np.float32)})
    more = ["--target", "toy", "--set", "beads=5"]
    run = ["run", str(path), "--input", str(tmp_path / "x.npz"), "--device", "left", *more]
    assert main(run) == 0
    assert main(["bench", str(path), *more, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"beads": 5}
    assert main(["build", str(path), "-o", str(tmp_path / "out"), "--force", *more]) == 0
    said = capsys.readouterr().err
    assert "bead" in said and "Kept your edits: main.c" in said
    settings = {"beads": 5, "wires": 7}
    assert abacus.asked == [
        ("session", "left", settings),
        ("bench", None, settings),
        ("build", True, settings),
    ]


def test_targets_list_devices_and_settings(abacus, capsys):
    assert main(["targets", "--json"]) == 0
    toy = json.loads(capsys.readouterr().out)[0]
    assert toy["emulator"] == "no abacus here" and toy["hardware"] == "never"
    assert toy["settings"]["beads"] == {"help": "beads on a wire", "default": 10}
    assert main(["targets"]) == 0
    assert "--set KEY=VALUE), with defaults: beads=10, wires=7" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["bench", "--target", "toy", "--set", "beads"], "write it as KEY=VALUE"),
        (["bench", "--target", "toy", "--kernels", "ref"], "does not apply to"),
        (["build", "--target", "toy", "-o", "o", "--sources"], "--sources applies to targets"),
        (["build", "--target", "toy", "-o", "o", "--name", "x"], "--name applies to targets"),
        (["build", "--target", "toy_host", "-o", "o", "--set", "beads=1"], "has no settings"),
        (["run", "--input", "x.npz", "--set", "beads=1"], "--set requires --target"),
        (["run", "--input", "x.npz", "--cpu", "a"], "--cpu requires --target"),
    ],
)
def test_what_does_not_fit_a_target_is_refused(
    abacus, model_file, tmp_path, monkeypatch, capsys, command, said
):
    path, feeds = model_file("digits")
    monkeypatch.chdir(tmp_path)
    np.savez("x.npz", **feeds[0])
    assert main([command[0], str(path), *command[1:]]) == 2
    assert said in capsys.readouterr().err
    assert abacus.asked == []
