import importlib.util
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def corpus():
    """The module tests/fuzz/corpus.py."""
    spec = importlib.util.spec_from_file_location("corpus", Path(__file__).parent / "corpus.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
