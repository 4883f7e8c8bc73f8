"""The check of TreeEnsemble, each rule broken once: cycles, offsets outside, numbers beyond."""

import struct

import pytest

from edgekit.toolkit.format.schema import TreeAggregate

from .test_verify_ops import opens, with_blob, with_params

FORM = "tree_ensemble_f32"
HEAD = {"scale": "f", "trees": "I", "stream": "I", "values": "I", "cuts": "I", "columns": "H",
        "groups": "H", "node_bytes": "B", "column_bits": "B", "link_bits": "B", "leaf_bytes": "B",
        "id_bytes": "B", "aggregate": "B", "guess_bits": "B", "reserved": "B"}  # fmt: skip
PLACE = {
    name: struct.calcsize("<" + "".join(list(HEAD.values())[:k])) for k, name in enumerate(HEAD)
}
TWO_LEAVES, HIGH_LEAF, FAR_APART, LOW_LEAF = range(4)
EACH = range(21)
GUESSED = 20


@pytest.fixture(scope="module")
def model(corpus):
    """Forests of every node size, leaf and aggregate; `corpus` checks that they open."""
    made = corpus.one_operator(FORM)
    assert len(made.ops) == len(EACH)
    return made


class Forest:
    """The table of operator i, and the model with a part of it changed."""

    def __init__(self, model, i):
        self.model, self.p = model, model.ops[i].params
        table = self.p["table"]
        values = struct.unpack_from("<" + "".join(HEAD.values()), model.blob, table)
        self.head = dict(zip(HEAD, values, strict=True))
        h, targets = self.head, self.p["targets"]
        self.short = 2 if h["node_bytes"] == 2 else 4
        lengths = {
            "columns": 4 * h["columns"], "cuts": 4 * h["cuts"], "base": 4 * targets,
            "values": h["leaf_bytes"] * h["values"], "groups": 4 * h["groups"],
            "targets": h["values"] if h["groups"] else 0, "distances": 1 << h["link_bits"],
            "guesses": 64 if h["guess_bits"] else 0, "sizes": self.short * h["trees"], "stream": 0,
        }  # fmt: skip
        self.at, at = {}, table + 32
        for name, length in lengths.items():
            self.at[name] = at
            at += -(-length // 4) * 4

    def opens(self, form, at, value):
        return opens(with_blob(self.model, form, at, value))

    def opens_head(self, name, value):
        return self.opens(HEAD[name], self.p["table"] + PLACE[name], value)

    def opens_node(self, at, **change):
        """With the node at a byte of the stream changed: column, link, limit."""
        size, place = self.head["node_bytes"], self.at["stream"] + at
        low, middle = self.head["column_bits"], self.head["link_bits"]
        word = int.from_bytes(self.model.blob[place : place + size], "little")
        parts = {"column": (0, low), "link": (low, middle), "limit": (low + middle, 8)}
        for name, value in change.items():
            shift, bits = parts[name]
            word = word & ~((1 << bits) - 1 << shift) | value << shift
        data = word.to_bytes(size + 1, "little")[:size]
        return self.opens(f"{size}s", place, data)


@pytest.fixture(params=EACH)
def forest(model, request):
    return Forest(model, request.param)


def test_the_links_of_a_tree_lead_forward_and_stay_in_it(forest):
    """The first tree of all but the last forest ends in a chain of nodes with one leaf each."""
    if forest.head["guess_bits"]:
        return
    assert forest.opens_node(0, limit=0)
    for link in (TWO_LEAVES, FAR_APART, LOW_LEAF + 1):
        assert not forest.opens_node(0, link=link), link
    size = forest.short
    length = int.from_bytes(forest.model.blob[forest.at["sizes"] :][:size], "little")
    last = forest.at["stream"] + length
    for wrong in (0, length - 1, length + 1, (1 << 8 * size) - 1):
        value = wrong.to_bytes(size, "little")
        assert not forest.opens(f"{size}s", forest.at["sizes"], value), wrong
    assert last <= forest.at["stream"] + forest.head["stream"]


def test_distances_are_inside_their_subtree(model):
    forest = Forest(model, GUESSED)
    links = range(LOW_LEAF + 1, 1 << forest.head["link_bits"])
    distances = forest.at["distances"]
    (used,) = [k for k in links if model.blob[distances + k]]
    value = model.blob[distances + used]
    for wrong in (0, 1, value - 1, value + 1, 255):
        good = forest.opens("B", distances + used, wrong)
        assert not good or wrong == 0, wrong  # 0: the high leaf of that index, if it is there
    for link in (TWO_LEAVES, HIGH_LEAF, FAR_APART, LOW_LEAF):
        assert not forest.opens("B", distances + link, 7)


def test_columns_and_leaves_exist(forest):
    head = forest.head
    if head["column_bits"]:
        assert forest.opens_node(0, column=head["columns"] - 1)
        for column in range(head["columns"], 1 << head["column_bits"]):
            assert not forest.opens_node(0, column=column)
    if not head["id_bytes"]:
        return
    last = forest.at["stream"] + head["stream"] - 1
    assert forest.opens("B", last, 0x11), "leaf 1 twice"
    assert not forest.opens("B", last, 0x1F), "leaf 15"
    assert not forest.opens("B", last, 0xF1)
    assert not forest.opens("B", last, 0xFF), "leaves outside"


def test_columns_read_features_that_exist(forest):
    at, p = forest.at["columns"], forest.p
    word = struct.unpack_from("<I", forest.model.blob, at)[0]
    assert forest.opens("I", at, word & ~0xFFFF | p["features"] - 1)
    assert not forest.opens("I", at, word & ~0xFFFF | p["features"])
    assert not forest.opens("I", at, word | 1 << 31), "the cuts of nothing before it"
    assert not forest.opens("I", at, word + (1 << 16)), "more cuts than there are"
    for c in range(1, forest.head["columns"]):
        before, here = struct.unpack_from("<2I", forest.model.blob, at + 4 * (c - 1))
        if before >> 29 & 1 and not here >> 31:
            assert not forest.opens("I", at + 4 * c, here & 0xFFFF | 1 << 31), "cuts of a set"


def test_groups_have_as_many_values_as_there_are(forest):
    if not forest.head["groups"]:
        return
    at, targets = forest.at, forest.p["targets"]
    assert forest.opens("B", at["targets"], targets - 1)
    assert not forest.opens("B", at["targets"], targets)
    length, count = struct.unpack_from("<2H", forest.model.blob, at["groups"])
    for wrong in ((length + 1, count), (length, count + 1), (65535, 65535), (0, 0)):
        assert not forest.opens("4s", at["groups"], struct.pack("<2H", *wrong)), wrong


def test_guesses_are_ranks(model):
    forest = Forest(model, GUESSED)
    bits, cuts = forest.head["guess_bits"], forest.head["cuts"]
    assert bits and forest.opens("B", forest.at["guesses"] + 63, cuts - 1)
    assert not forest.opens("B", forest.at["guesses"] + 63, cuts)
    assert not forest.opens("i", forest.at["cuts"], -(2**31)), "cuts further apart than guesses"
    assert not forest.opens("i", forest.at["cuts"], 2**31 - 1), "a first cut above the last"
    for wrong in (0, 31, 255):
        assert not forest.opens_head("guess_bits", wrong)
    last = forest.at["columns"] + 4 * (forest.head["columns"] - 1)
    assert not forest.opens("I", last, 0), "a column without the list"


@pytest.mark.parametrize("name", ["trees", "stream", "values", "cuts", "columns", "groups"])
def test_counts_are_those_of_the_table(forest, name):
    count = forest.head[name]
    top = 2**16 - 1 if HEAD[name] == "H" else 2**32 - 1
    for wrong in (0, count + 1, top // 2 + 1, top):
        padded = name == "values" and not forest.head["groups"] and wrong == count + 1
        if wrong != count and not padded:
            assert not forest.opens_head(name, wrong), wrong


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("node_bytes", (0, 1, 5, 255)), ("column_bits", (9, 17, 255)), ("link_bits", (0, 1, 9, 255)),
     ("leaf_bytes", (0, 3, 8)), ("id_bytes", (3, 255)), ("aggregate", (4, 255)),
     ("reserved", (1,))],
)  # fmt: skip
def test_small_numbers_have_few_values(forest, name, wrong):
    for value in wrong:
        assert not forest.opens_head(name, value), value


def test_extremes_are_of_floats(model):
    for i in EACH:
        forest = Forest(model, i)
        whole = forest.head["leaf_bytes"] < 4
        assert forest.opens_head("aggregate", TreeAggregate.Min) != whole


@pytest.mark.parametrize("name", ["rows", "features", "targets", "scratch", "table"])
def test_parameters_are_those_of_the_tensors(model, name):
    for i in (0, 8, GUESSED):
        for wrong in (0, 2, 2**31, 2**32 - 1):
            if model.ops[i].params[name] != wrong:
                assert not opens(with_params(model, i, **{name: wrong})), wrong
