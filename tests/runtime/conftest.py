import pytest

from ..fuzz import corpus as _corpus

CASES = _corpus.CASES
"""Name -> form of the corpus's files of one operator."""


@pytest.fixture(scope="session")
def corpus():
    """The module tests/fuzz/corpus.py."""
    return _corpus
