import os
import platform
from pathlib import Path

import numpy as np
import pytest

from edgekit.toolkit.runtime.memory import trim_heap

MANY, BYTES = 4000, 20_000  # each below what malloc maps apart


def resident():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc keeps freed memory")
def test_freed_memory_goes_back_though_some_above_it_is_in_use():
    arrays = [np.ones(BYTES, np.uint8) for _ in range(MANY)]
    before, above = resident(), arrays[-1]
    del arrays
    trim_heap()
    assert resident() < before - MANY * BYTES // 2
    assert above.all()
