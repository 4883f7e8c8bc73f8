import pytest

from . import corpus as _corpus


@pytest.fixture(scope="session")
def corpus():
    """The module tests/fuzz/corpus.py."""
    return _corpus
