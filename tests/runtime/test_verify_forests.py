"""The check of TreeEnsemble, each rule broken once: cycles, offsets outside, numbers beyond."""

import struct
from dataclasses import replace

import pytest

from .test_verify_ops import opens, with_blob, with_params

FORM = "tree_ensemble_f32"
EACH = range(20)
COUNTS = ("trees", "nodes", "leaves", "columns", "cuts", "features", "targets", "rows")


@pytest.fixture(scope="module")
def model(corpus):
    """Forests of every node size, leaf and aggregate; `corpus` checks that they open."""
    return corpus.one_operator(FORM)


def sections(p):
    """Where the parts of a forest's table are."""
    wide, rows = p["node_bytes"] == 8, p["leaf_rows"] > 0
    values = p["entries"] if rows else p["leaves"]
    lengths = {
        "columns": 4 * p["columns"], "cuts": 4 * p["cuts"], "base": 4 * p["targets"],
        "trees": p["trees"] * (8 if wide else 4), "targets": 2 * p["trees"] * p["tree_targets"],
        "values": p["leaf_bytes"] * values, "entry_targets": 2 * p["entries"],
        "firsts": 4 * (p["leaf_rows"] + 1) * rows, "rows": 2 * p["leaves"] * rows, "nodes": 0,
    }  # fmt: skip
    at, found = p["table"], {}
    for name, length in lengths.items():
        found[name] = at
        at += -(-length // 4) * 4
    return found


def node_at(model, i, node, change):
    """The model with a node's fields changed: flags, limit, column, link."""
    p = model.ops[i].params
    size, at = p["node_bytes"], sections(p)["nodes"] + node * p["node_bytes"]
    word = int.from_bytes(model.blob[at : at + size], "little")
    widths = [2, p["rank_bits"], p["column_bits"], 0]
    places = [0, 2, 2 + widths[1], 2 + widths[1] + widths[2]]
    if size == 8:
        places, widths = [0, 48, 32, 2], [2, 16, 16, 30]
    else:
        widths[3] = 8 * size - places[3]
    for name, value in change.items():
        k = ("flags", "limit", "column", "link").index(name)
        mask = ((1 << widths[k]) - 1) << places[k]
        word = word & ~mask | (value << places[k]) & mask
    blob = bytearray(model.blob)
    blob[at : at + size] = word.to_bytes(size, "little")
    return replace(model, blob=bytes(blob))


@pytest.mark.parametrize("i", EACH)
def test_a_link_leads_forward_and_stays_in_its_tree(model, i):
    p = model.ops[i].params
    first = struct.unpack_from("<I" if p["node_bytes"] == 8 else "<H", model.blob,
                               sections(p)["trees"])[0]  # fmt: skip
    assert first == 4
    for link, good in ((0, False), (1, True), (3, True), (4, False), (1 << 9, False)):
        assert opens(node_at(model, i, 0, {"flags": 0, "link": link})) == good, link
    assert not opens(node_at(model, i, 0, {"flags": 2})), "both are leaves, and one is none"
    assert not opens(node_at(model, i, 3, {"flags": 0, "link": 1})), "the last node has leaves"
    assert not opens(node_at(model, i, 3, {"flags": 1, "link": 0})), "a near child outside"


@pytest.mark.parametrize("i", EACH)
def test_leaves_and_columns_exist(model, i):
    p = model.ops[i].params
    for flags, most in ((1, p["leaves"] - 1), (3, p["leaves"] - 2)):
        assert opens(node_at(model, i, 0, {"flags": flags, "link": most}))
        assert not opens(node_at(model, i, 0, {"flags": flags, "link": most + 1}))
    assert opens(node_at(model, i, 0, {"column": p["columns"] - 1}))
    assert not opens(node_at(model, i, 0, {"column": p["columns"]}))


@pytest.mark.parametrize("i", EACH)
def test_columns_read_features_that_exist(model, i):
    at = sections(model.ops[i].params)["columns"]
    word = struct.unpack_from("<I", model.blob, at)[0]
    assert opens(with_blob(model, "I", at, word & ~0xFFFF | 2))
    assert not opens(with_blob(model, "I", at, word & ~0xFFFF | 3))
    assert not opens(with_blob(model, "I", at, word | 1 << 31)), "the mirror of nothing"
    assert not opens(with_blob(model, "I", at, word + (1 << 16))), "more cuts than there are"


@pytest.mark.parametrize("i", EACH)
def test_features_share_only_cuts_that_are_before_them_and_no_set(model, i):
    p = model.ops[i].params
    at = sections(p)["columns"]
    words = struct.unpack_from(f"<{p['columns']}I", model.blob, at)
    repeat, seen = 1 << 31 | 1 << 29, set()
    for k, word in enumerate(words):
        if word == 1 << 31:  # a mirror, which has no cuts of its own
            own = next(w for w in reversed(words[:k]) if not w >> 31)
            is_set = bool(own >> 29 & 1)
            seen.add(is_set)
            assert opens(with_blob(model, "I", at + 4 * k, repeat | 2)) != is_set
            assert not opens(with_blob(model, "I", at + 4 * k, repeat | 3)), "no such feature"
    assert seen == {False, True}
    assert not opens(with_blob(model, "I", at, repeat)), "nothing to share"


@pytest.mark.parametrize("i", EACH)
def test_rows_of_leaves_lie_inside_the_entries(model, i):
    p = model.ops[i].params
    if not p["leaf_rows"]:
        assert p["targets"] == 1
        return
    at = sections(p)
    assert not opens(with_blob(model, "H", at["entry_targets"], p["targets"]))
    assert not opens(with_blob(model, "H", at["rows"], p["leaf_rows"]))
    last = at["firsts"] + 4 * p["leaf_rows"]
    assert not opens(with_blob(model, "I", last, p["entries"] + 1))
    assert not opens(with_blob(model, "I", at["firsts"], 2**32 - 1))


@pytest.mark.parametrize("field", COUNTS)
@pytest.mark.parametrize("i", [0, 4, 8])
def test_counts_are_those_of_the_table(model, field, i):
    count = model.ops[i].params[field]
    for wrong in (0, 2**31, 2**32 - 1):
        assert not opens(with_params(model, i, **{field: wrong})), wrong
    if field not in ("leaves", "columns"):
        assert not opens(with_params(model, i, **{field: count + 1}))


@pytest.mark.parametrize(
    ("field", "wrong"),
    [("node_bytes", (0, 2, 5, 16)), ("rank_bits", (9, 255)), ("column_bits", (9, 22, 255)),
     ("leaf_bytes", (0, 3, 8)), ("aggregate", (4, 255)), ("tree_targets", (2,)),
     ("reserved", (1,)), ("table", (2, 2**31))],
)  # fmt: skip
def test_small_fields_have_few_values(model, field, wrong):
    for value in wrong:
        assert not opens(with_params(model, 0, **{field: value})), value


def test_a_tree_has_nodes(model):
    p = model.ops[0].params
    trees = sections(p)["trees"]
    assert not opens(with_blob(model, "H", trees, 0))
    assert not opens(with_blob(model, "H", trees, p["nodes"] + 1))
    assert not opens(with_blob(model, "H", trees + 2, p["leaves"] + 1))
