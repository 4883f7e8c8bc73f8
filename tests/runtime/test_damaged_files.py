"""Whatever a damaged file says, people get a description of it or one UserError that names it."""

import random
import struct
from dataclasses import replace

import pytest

from edgekit.toolkit.errors import UserError
from edgekit.toolkit.format.checksums import checksum_position, checksums
from edgekit.toolkit.format.writer import write
from edgekit.toolkit.inspection import describe
from edgekit.toolkit.runtime import Model

AWKWARD = (0, 1, 7, 0x7F, 0x80, 0xFF)
TRIES = 60


def damaged(data, rng):
    """Up to three bytes changed, with checksums that match again where there still are any."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(8, len(changed))
        changed[at] = rng.choice((*AWKWARD, rng.randrange(256)))
    try:
        at, _, _ = checksum_position(changed)
        changed[at : at + 8] = struct.pack("<II", *checksums(changed))
    except (struct.error, IndexError):
        pass
    return bytes(changed)


def is_refused(say, data):
    try:
        say(data)
    except UserError as why:
        assert str(why).startswith("x.edge: "), why
        return True
    return False


def test_a_damaged_file_is_described_or_refused(corpus):
    rng = random.Random(1)
    refused = [
        is_refused(lambda d: describe(d, "x.edge"), data)
        for data in (damaged(d, rng) for d in corpus.files().values() for _ in range(TRIES))
    ]
    assert 0.1 < sum(refused) / len(refused) < 0.9, "too wild, or too tame, to show anything"


def test_a_damaged_file_opens_or_is_refused(corpus):
    rng = random.Random(2)
    for data in corpus.files().values():
        for _ in range(TRIES):
            is_refused(lambda d: Model(d, name="x.edge"), damaged(data, rng))


def test_an_operator_outside_the_program_is_blamed_by_its_name(corpus):
    data = corpus.files()["lut_s8"]
    program = struct.pack("<H", 0xFFFF)
    model = Model(data)
    begin = int(model.handle.ops[0])
    at = data.index(struct.pack("<IH", 1, begin))  # the vector of one beginning
    changed = data[: at + 4] + program + data[at + 6 :]
    with pytest.raises(UserError, match=r"x\.edge: operator 0 'op0': .*quantize"):
        Model(changed, checksum=False, name="x.edge")


@pytest.mark.parametrize("options", ["[]", "{", "7"])
def test_options_that_are_no_settings_are_said_to_be_damaged(corpus, options):
    model = corpus.one_operator("lut_s8")
    data = write(replace(model, provenance=replace(model.provenance, options=options)))
    assert is_refused(lambda d: describe(d, "x.edge"), data)
