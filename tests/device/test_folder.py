"""Builds replace what builds wrote, keep a main.c that was edited, and refuse to lose the rest."""

import json

import pytest

from edgekit.toolkit.cli import main
from edgekit.toolkit.device.folder import MANIFEST, install
from edgekit.toolkit.errors import UserError


@pytest.fixture
def staged(tmp_path):
    def make(**files):
        folder = tmp_path / "staged"
        for name, text in files.items():
            path = folder / name.replace("__", "/").replace("_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return folder

    return make


def put(staged, out, force=False):
    return install(staged, out, force=force, own=("main.c",))


def test_a_rebuild_replaces_what_was_written_before(staged, tmp_path):
    out = tmp_path / "out"
    assert put(staged(main_c="1", src__a_c="1"), out) == []
    assert put(staged(main_c="2", src__a_c="2"), out) == []
    assert (out / "main.c").read_text() == (out / "src/a.c").read_text() == "2"


def test_an_edited_main_is_kept_at_every_rebuild(staged, tmp_path):
    out = tmp_path / "out"
    put(staged(main_c="1", a_c="1"), out)
    (out / "main.c").write_text("mine")
    for text in "23":
        assert put(staged(main_c=text, a_c=text), out) == ["main.c"]
        assert (out / "main.c").read_text() == "mine"
        assert (out / "a.c").read_text() == text
    assert put(staged(main_c="4"), out, force=True) == []
    assert (out / "main.c").read_text() == "4"


def test_other_edited_files_are_refused_by_name_and_nothing_is_written(staged, tmp_path):
    out = tmp_path / "out"
    put(staged(main_c="1", a_c="1", CMakeLists_txt="1"), out)
    (out / "CMakeLists.txt").write_text("mine")
    with pytest.raises(UserError, match=r"CMakeLists\.txt; choose another folder, or use --force"):
        put(staged(main_c="2", a_c="2", CMakeLists_txt="2"), out)
    assert (out / "a.c").read_text() == "1" and (out / "CMakeLists.txt").read_text() == "mine"
    put(staged(), out, force=True)
    assert (out / "CMakeLists.txt").read_text() == "2"


def test_files_of_a_folder_never_built_into_are_refused(staged, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "main.c").write_text("mine")
    with pytest.raises(UserError, match=r"main\.c; choose another"):
        put(staged(main_c="1"), out)
    assert [p.name for p in out.iterdir()] == ["main.c"]
    (out / "main.c").write_text("1")  # the very same file loses nothing
    assert put(staged(main_c="1"), out) == []


def test_a_folder_in_the_place_of_a_file_is_refused(staged, tmp_path):
    (tmp_path / "out" / "main.c").mkdir(parents=True)
    with pytest.raises(UserError, match=r"main\.c"):
        put(staged(main_c="1"), tmp_path / "out")


def test_files_of_two_ways_to_build_stay_known(staged, tmp_path):
    """--sources, an archive, --sources again: none of them was changed."""
    out = tmp_path / "out"
    put(staged(a_c="1"), out)
    (tmp_path / "staged" / "a.c").unlink()
    put(staged(lib_a="1"), out)
    assert put(staged(a_c="2"), out) == []


@pytest.mark.parametrize("text", ["", "[]", '{"files": 1}', "\xff"])
def test_a_manifest_that_cannot_be_read_protects_all(staged, tmp_path, text):
    out = tmp_path / "out"
    put(staged(a_c="1"), out)
    (out / MANIFEST).write_text(text)
    with pytest.raises(UserError, match=r"a\.c"):
        put(staged(a_c="2"), out)


@pytest.mark.parametrize("more", [["--target", "cortex_m4"], ["--target", "cortex_m4", "--sources"],
                                  ["--target", "fpga_opencl"]])  # fmt: skip
def test_the_command_keeps_main_and_refuses_the_rest(ready, model_file, tmp_path, capsys, more):
    if "cortex_m4" in more:
        ready("cortex_m4")
    out = tmp_path / "fw"
    command = ["build", str(model_file("digits")[0]), "-o", str(out), *more]
    assert main(command) == 0
    (out / "main.c").write_text("/* mine */")
    capsys.readouterr()
    assert main(command) == 0
    assert "Kept" in capsys.readouterr().err and (out / "main.c").read_text() == "/* mine */"
    (out / "CMakeLists.txt").write_text("# mine")
    assert main(command) == 2
    assert "CMakeLists.txt" in capsys.readouterr().err
    assert (out / "CMakeLists.txt").read_text() == "# mine"
    assert main([*command, "--force", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kept"] == []
    assert "mine" not in (out / "main.c").read_text() + (out / "CMakeLists.txt").read_text()
