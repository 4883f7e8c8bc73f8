import re
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from edgekit.calibration import CalibrationError, InputSpec, load_labels, open_samples

_X = np.random.default_rng(0).normal(size=(10, 4, 5)).astype(np.float32)
_SPEC = InputSpec("x", (1, 4, 5), np.float32)
_TWO = (InputSpec("a/b:0", (1, 3), np.float32), InputSpec("mask", (1, 2), np.int64))


def _values(samples, name="x"):
    return np.concatenate([feed[name] for feed in samples])


def _npz(path, **arrays):
    np.savez(path, **arrays)
    return path


@pytest.fixture
def every_source(tmp_path):
    """The same ten samples in every form."""
    for name in ("one", "many"):
        (tmp_path / name).mkdir()
    for i, x in enumerate(_X):
        np.save(tmp_path / "one" / f"{i}.npy", x[None] if i % 2 else x)
    (tmp_path / "one" / "README.md").write_text("not a sample")
    (tmp_path / "one" / "._0.npy").write_text("hidden")
    np.save(tmp_path / "many" / "0.npy", _X[:3])
    np.save(tmp_path / "many" / "1.npy", _X[3:, None])
    np.save(tmp_path / "single.npy", _X)
    np.save(tmp_path / "fortran.npy", np.asfortranarray(_X))
    np.savez(tmp_path / "stored.npz", x=_X)
    np.savez_compressed(tmp_path / "compressed.npz", x=_X)
    np.savez_compressed(tmp_path / "fortran.npz", x=np.asfortranarray(_X))
    return {
        **{path.name: path for path in tmp_path.iterdir()},
        "list": [{"x": x} for x in _X],
        "mapping": {"x": _X},
        "generator": ({"x": x} for x in _X),
        "nested lists": [{"x": x.tolist()} for x in _X],
        "strings for paths": str(tmp_path / "one"),
    }


def test_every_form_gives_the_same_samples(every_source):
    fingerprints = set()
    for name, source in every_source.items():
        samples = open_samples(source, [_SPEC])
        if name != "generator":
            assert len(samples) == samples.length == 10, name
        feeds = list(samples)
        assert all(feed["x"].shape == (1, 4, 5) for feed in feeds), name
        assert all(feed["x"].dtype == np.float32 for feed in feeds), name
        assert np.array_equal(_values(feeds), _X), name
        fingerprints.add(samples.fingerprint())
    assert len(fingerprints) == 1


def test_samples_can_be_read_again(every_source):
    for name, source in every_source.items():
        samples = open_samples(source, [_SPEC])
        if samples.reiterable:
            assert np.array_equal(_values(samples), _values(samples)), name
    assert not open_samples(every_source["generator"], [_SPEC]).reiterable


def test_the_fingerprint_tells_values_order_and_names_apart():
    def of(source, name="x"):
        return open_samples(source, [InputSpec(name, (1, 4, 5), np.float32)]).fingerprint()

    changed = _X.copy()
    changed[3, 1, 1] += 1
    prints = {of({"x": _X}), of({"x": changed}), of({"x": _X[::-1]}), of({"y": _X}, "y")}
    assert len(prints) == 4
    assert all(len(p) == 64 for p in prints)


def test_a_generator_is_read_once():
    samples = open_samples(({"x": x} for x in _X), [_SPEC])
    assert samples.length is None
    with pytest.raises(TypeError, match="no length"):
        len(samples)
    with pytest.raises(CalibrationError, match="known after reading them to the end"):
        samples.fingerprint()
    assert len(list(samples)) == 10
    assert len(samples.fingerprint()) == 64
    with pytest.raises(CalibrationError, match="only once, and were read already; pass a list"):
        list(samples)


def test_a_generator_may_reuse_its_buffer():
    def reuse():
        buffer = np.empty((4, 5), np.float32)
        for x in _X:
            buffer[:] = x
            yield {"x": buffer}

    samples = open_samples(reuse(), [InputSpec("x", (5, 4, 5), np.float32)])
    assert np.array_equal(_values(samples), _X)


@pytest.mark.parametrize("source", ["stored.npz", "one", "list", "generator"])
def test_samples_are_put_together_to_the_model_batch(every_source, source):
    samples = open_samples(every_source[source], [InputSpec("x", (4, 4, 5), np.float32)])
    if source != "generator":
        assert len(samples) == 2
    feeds = list(samples)
    assert [feed["x"].shape for feed in feeds] == [(4, 4, 5)] * 2
    assert np.array_equal(_values(feeds), _X[:8])
    assert "2 samples at the end are ignored: the batch size of the model is 4" in samples.notes[0]


def test_whole_batches_are_taken_as_they_are():
    spec = InputSpec("x", (5, 4, 5), np.float32)
    for source in ({"x": _X.reshape(2, 5, 4, 5)}, [{"x": _X[:5]}, {"x": _X[5:]}]):
        samples = open_samples(source, [spec])
        assert len(samples) == 2
        assert np.array_equal(_values(samples), _X)
        assert samples.notes == []


def test_fewer_samples_than_a_batch_are_an_error():
    with pytest.raises(CalibrationError, match="0 samples; at least 1"):
        list(open_samples({"x": _X}, [InputSpec("x", (16, 4, 5), np.float32)]))


def test_a_part_beside_a_whole_is_an_error():
    specs = [InputSpec("x", (2, 3), np.float32), InputSpec("y", (2, 1), np.float32)]
    with pytest.raises(CalibrationError, match="the batch sizes of the inputs differ"):
        list(open_samples([{"x": np.zeros((2, 3)), "y": np.zeros(1)}], specs))


def test_inputs_without_a_batch_axis():
    specs = [InputSpec("state", (2, 1, 3), np.float32), InputSpec("rate", (), np.int64)]
    source = {"state": np.ones((4, 2, 1, 3), np.float32), "rate": np.full(4, 16000)}
    feeds = list(open_samples(source, specs))
    assert len(feeds) == 4
    assert feeds[0]["state"].shape == (2, 1, 3)
    assert feeds[0]["rate"].shape == () and feeds[0]["rate"] == 16000


def test_the_limit_takes_the_first_of_arrays_and_iterables(every_source):
    for name in ("stored.npz", "list", "generator"):
        samples = open_samples(every_source[name], [_SPEC], limit=3)
        assert np.array_equal(_values(samples), _X[:3])
        assert len(samples.fingerprint()) == 64
    assert len(open_samples(every_source["stored.npz"], [_SPEC], limit=3)) == 3
    assert len(open_samples(every_source["stored.npz"], [_SPEC], limit=30)) == 10


def test_the_limit_spreads_over_a_folder(tmp_path):
    for label in range(5):
        (tmp_path / f"class{label}").mkdir()
        for i in range(4):
            np.save(tmp_path / f"class{label}" / f"{i}.npy", np.full((4, 5), label, np.float32))
    samples = open_samples(tmp_path, [_SPEC], limit=5)
    assert len(samples) == 5
    assert _values(samples)[:, 0, 0].tolist() == [0, 1, 2, 3, 4]


def test_a_limit_of_none_is_refused():
    with pytest.raises(CalibrationError, match="limit is 0; it must be 1 or more"):
        open_samples({"x": _X}, [_SPEC], limit=0)


def test_several_inputs_come_from_one_folder_each(tmp_path):
    a, mask = np.arange(12.0, dtype=np.float32).reshape(4, 3), np.arange(8).reshape(4, 2)
    for name, array in (("a_b_0", a), ("mask", mask)):
        (tmp_path / name).mkdir()
        for i, row in enumerate(array):
            np.save(tmp_path / name / f"{i}.npy", row)
    samples = open_samples(tmp_path, _TWO)
    assert len(samples) == 4
    assert np.array_equal(_values(samples, "a/b:0"), a)
    assert np.array_equal(_values(samples, "mask"), mask)
    in_one_file = open_samples({"a/b:0": a, "mask": mask}, _TWO)
    assert samples.fingerprint() == in_one_file.fingerprint()


def test_several_inputs_come_from_npz_files(tmp_path):
    for i in range(3):
        _npz(tmp_path / f"{i}.npz", **{"a/b:0": np.full(3, i), "mask": np.full((1, 2), i)})
    specs = (InputSpec("a/b:0", (1, 3), np.int64), _TWO[1])
    assert _values(open_samples(tmp_path, specs), "mask")[:, 0].tolist() == [0, 1, 2]


def test_input_folders_of_different_lengths_are_an_error(tmp_path):
    for name, count in (("a_b_0", 2), ("mask", 3)):
        (tmp_path / name).mkdir()
        for i in range(count):
            np.save(tmp_path / name / f"{i}.npy", np.zeros(3 if name != "mask" else 2))
    with pytest.raises(CalibrationError, match="different numbers of samples: 'a/b:0' 2, 'mask' 3"):
        list(open_samples(tmp_path, _TWO))


def test_a_missing_input_folder_is_an_error(tmp_path):
    (tmp_path / "mask").mkdir()
    with pytest.raises(CalibrationError, match=r"input 'a/b:0' is missing; .* found: 'mask'"):
        open_samples(tmp_path, _TWO)


def test_files_without_names_do_not_serve_several_inputs(tmp_path):
    np.save(tmp_path / "x.npy", _X)
    for source in (tmp_path, tmp_path / "x.npy"):
        with pytest.raises(
            CalibrationError, match=r"do not name their input; .* one folder per input"
        ):
            open_samples(source, _TWO)


def test_symbolic_links_to_folders_are_followed_once(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "elsewhere").mkdir()
    np.save(tmp_path / "elsewhere" / "0.npy", _X[0])
    (tmp_path / "data" / "class").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "loop").symlink_to(tmp_path / "data")
    assert len(open_samples(tmp_path / "data", [_SPEC])) == 1


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_ten_thousand_samples_need_the_memory_of_one(tmp_path, save):
    x = np.tile(np.arange(1024, dtype=np.float16), (10_000, 1))  # 20 MB
    save(tmp_path / "x.npz", x=x)
    del x
    samples = open_samples(tmp_path / "x.npz", [InputSpec("x", (1, 1024), np.float32)])
    tracemalloc.start()
    assert sum(1 for _ in samples) == len(samples) == 10_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


def test_extra_arrays_are_ignored_and_named(tmp_path):
    more = {"y": np.arange(10), "ref_0": np.zeros((10, 3))}
    path = _npz(tmp_path / "eval.npz", x=_X, **more)
    for source in (path, {"x": _X, **more}, [{"x": x, "y": 1, "ref_0": 2} for x in _X]):
        samples = open_samples(source, [_SPEC])
        assert np.array_equal(_values(samples), _X)
        assert samples.ignored == ["ref_0", "y"]


def _labels(source, key):
    return load_labels(open_samples(source, [_SPEC]), key).classes


def test_labels_are_class_numbers(tmp_path):
    path = _npz(tmp_path / "e.npz", y=np.arange(4.0)[:, None], p=np.zeros((4, 3)), h=[0.5, 1.0])
    labels = _labels(path, "y")
    assert labels.dtype == np.int64 and labels.tolist() == [0, 1, 2, 3]
    with pytest.raises(CalibrationError, match="labels 'z': no such array; found: 'y', 'p', 'h'"):
        _labels(path, "z")
    with pytest.raises(CalibrationError, match=r"for a folder, labels are 'folders'"):
        _labels(path.parent, "y")
    with pytest.raises(CalibrationError, match="expected one class number per sample"):
        _labels(path, "p")
    with pytest.raises(CalibrationError, match="1 of 2 are not 64-bit integers"):
        _labels(path, "h")
    with pytest.raises(CalibrationError, match=r"'.*none\.npz' does not exist"):
        _labels(tmp_path / "none.npz", "y")


def test_labels_lie_in_a_dict_of_arrays_too():
    arrays = {"x": _X, "y": np.arange(4.0)[:, None], "p": np.zeros((4, 3))}
    assert _labels(arrays, "y").tolist() == [0, 1, 2, 3]
    with pytest.raises(CalibrationError, match="labels 'z': no such array; found: 'x', 'y', 'p'"):
        _labels(arrays, "z")
    with pytest.raises(CalibrationError, match=r"labels 'p': shape .* one class number per sample"):
        _labels(arrays, "p")
    with pytest.raises(CalibrationError, match=r"labels 'y' require samples from .* not a list"):
        _labels([{"x": _X}], "y")


@pytest.mark.parametrize(
    "labels, says",
    [
        (np.zeros(0), "0 labels"),
        (np.array([["cat"], ["dog"]]), "wrong dtype <U3; expected one class number"),
        (np.array([1.0, 0.5, np.nan]), "2 of 3 are not 64-bit integers, first 0.5"),
        (np.array([1e30, np.inf]), "2 of 2 are not 64-bit integers"),
        (np.array([2**64 - 1, 1], np.uint64), "1 of 2 are not 64-bit integers, first 1844"),
    ],
)
def test_labels_that_name_no_class(tmp_path, labels, says):
    """They are not samples: nothing is said of what the model takes."""
    np.savez(tmp_path / "d.npz", y=labels)
    with pytest.raises(CalibrationError, match="labels 'y': " + re.escape(says)):
        _labels(tmp_path / "d.npz", "y")


def test_labels_come_only_from_sound_npz_files(tmp_path):
    np.save(tmp_path / "y.npy", np.arange(3))
    with pytest.raises(CalibrationError, match=r"y\.npy, labels 'y': not found; labels are"):
        _labels(tmp_path / "y.npy", "y")
    (tmp_path / "bad.npz").write_bytes(b"PK\3\4 and no more")
    with pytest.raises(CalibrationError, match="corrupt, truncated"):
        _labels(tmp_path / "bad.npz", "y")
    _npz(tmp_path / "object.npz", y=np.array([{}, {}], object))
    with pytest.raises(CalibrationError, match="cannot be read"):
        _labels(tmp_path / "object.npz", "y")


def test_class_folders_of_pictures_are_one_data_set(tmp_path):
    for name in ("cat/0.png", "cat/1.JPG", "dog/0.jpeg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (5, 4)).save(tmp_path / name)
    samples = open_samples(tmp_path, [InputSpec("x", (1, 3, 4, 5), np.float32)])
    assert len(list(samples)) == len(samples) == 3
    assert "3 image files" in samples.description


_MAGIC = {
    "npy": b"\x93NUMPY\1\0",
    "npz": b"PK\3\4",
    "png": b"\x89PNG\r\n\x1a\n",
    "jpg": b"\xff\xd8\xff",
    "wav": b"RIFF    WAVE",
    "csv": b"",
}


@given(data=st.binary(max_size=200), suffix=st.sampled_from(sorted(_MAGIC)))
@settings(max_examples=150)
def test_no_bytes_raise_anything_but_a_calibration_error(tmp_path_factory, data, suffix):
    path = tmp_path_factory.mktemp("bytes") / f"x.{suffix}"
    path.write_bytes(_MAGIC[suffix] + data)
    try:
        samples = open_samples(path, [InputSpec("x", (1, 3), np.float32)])
        assert samples.length
        list(samples)
    except CalibrationError as error:
        assert str(path) in str(error) or "input 'x'" in str(error)


def test_places_of_feeds_have_names(tmp_path):
    for i in range(5):
        np.save(tmp_path / f"{i}.npy", np.full((2,), i, np.float32))
    alone = open_samples(tmp_path, [InputSpec("x", (1, 2), np.float32)])
    assert {i: n.endswith(f"{i}.npy") for i, n in alone.names([1, 4]).items()} == {1: True, 4: True}
    batches = open_samples(tmp_path, [InputSpec("x", (2, 2), np.float32)])
    assert batches.names([1])[1].endswith("2.npy") and batches.names([]) == {}
    generator = open_samples(({"x": np.zeros(2)} for _ in range(3)), [alone._request.specs[0]])
    assert generator.names([0]) == {}
