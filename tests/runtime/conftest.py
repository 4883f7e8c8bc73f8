import importlib.util
from pathlib import Path

import pytest


def _module():
    """tests/fuzz/corpus.py."""
    spec = importlib.util.spec_from_file_location(
        "corpus", Path(__file__).parent.parent / "fuzz" / "corpus.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_CORPUS = _module()

CASES = _CORPUS.CASES
"""Name -> form of the corpus's files of one operator."""


@pytest.fixture(scope="session")
def corpus():
    """The module tests/fuzz/corpus.py."""
    return _CORPUS
