"""What quantized models answer, as hashes: to tell that a change of edgekit changes no integer.

    python tests/bench/output_hashes.py [--models kws,ic] [--default] > before.txt

Every model of the collection is quantized with 8 of its calibration samples, min-max ranges and
the nearest weights (or, with --default, the default settings and all samples); a line gives the
SHA-256 of its raw outputs on 20 evaluation samples, and the bytes of the file. Run it with both
versions and compare: the hashes say whether the integers are the same, the bytes what the file
costs. The models come from $EDGEKIT_MODELS, read by its eval_lib.py.
"""

from __future__ import annotations

import hashlib

import numpy as np
from collection import feeds_of, quantized, rows

import edgekit

SAMPLES = 20


def answers(edge, arrays):
    """SHA-256 of the outputs, as the runtime holds them, on the first samples of `arrays`."""
    session = edgekit.Session(edge)
    found = hashlib.sha256()
    for feed in feeds_of(session, arrays, SAMPLES):
        for out in session.run_raw(feed).values():
            found.update(np.ascontiguousarray(out).tobytes())
    return found.hexdigest()[:16]


def hashed(name, how):
    with quantized(name, how) as (edge, arrays):
        return f"{answers(edge, arrays)} {edge.stat().st_size:>9}"


if __name__ == "__main__":
    for name, line, error in rows(__doc__, hashed):
        print(f"{name:32} {line or error[:80]}", flush=True)
