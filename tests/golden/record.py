"""Add a file to the golden corpus: python tests/golden/record.py FILE.edge

Copies it here and writes beside it NAME.npz: inputs as the runtime holds them, and the outputs
that they give. Files that are here are never recorded again: old files must run for ever.
"""

import sys
from pathlib import Path

import numpy as np

from edgekit.toolkit.files import npz
from edgekit.toolkit.runtime import Session

HERE = Path(__file__).parent
SAMPLES = 3


def some(info, rng):
    """Values that an input may hold: all of int8, small ones else."""
    if info.dtype == np.int8:
        return rng.integers(-128, 128, info.shape).astype(np.int8)
    if info.dtype == np.float32:
        return rng.normal(size=info.shape).astype(np.float32)
    return rng.integers(0, 2, info.shape).astype(info.dtype)


def main(path):
    copy = HERE / path.name
    if copy.exists():
        sys.exit(f"{copy} is there already, and must stay as it is")
    session = Session(path, "ref")
    rng = np.random.default_rng(0)
    arrays = {}
    for i in range(SAMPLES):
        feed = {io.name: some(io, rng) for io in session.inputs}
        arrays |= {f"in{i}/{name}": a for name, a in feed.items()}
        arrays |= {f"out{i}/{name}": a for name, a in session.run_raw(feed).items()}
    copy.write_bytes(path.read_bytes())
    copy.with_suffix(".npz").write_bytes(npz(arrays))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
