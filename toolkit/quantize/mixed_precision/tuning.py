"""The constants of the search for mixed precision, and the reason of each."""

from __future__ import annotations

from ...numerics import FLOAT32, W8A8, W8A16

# How much may be measured, in multiply-accumulates: by these the model's size decides.
MEASURING = 4e11
"""For the noise of single changes."""
JUDGING = 1.5e12
"""For running the metric while changes are pruned."""
ROUNDING = 3e12
"""For weights rounded anew for one configuration or another."""

# Candidates: the noise of single changes.
MAX_MEASURED = 400
FEWEST_SAMPLES = 4
BLOCK_PARTS = 4
"""A block of changes that was measured as one is measured anew in so many parts."""

# Limits.
METRIC_TOLERANCE = 1e-9
"""Part of a limit that differences of metrics may be beyond it, as floats are."""
MOST_DB = 600.0
"""More than two ratios of decibels.py differ by."""

# Rank.
NODE_BYTES = 64
"""What a node off int8 costs at least: it is slower even where it takes no bytes."""
ARENA_WEIGHT = 1 / 16
"""What a byte of arena counts, in bytes of file: every layer uses it again, and max_arena is there
for those who lack it."""
PROMOTED_FIRST = (W8A8, W8A16), (FLOAT32,)
"""Changes to float32 come last: an order of all by what they bring for their bytes may reach for
the most expensive too early."""
MAX_FITTED = 128
"""How often changes are tried against limits of size, for each order."""

# Promote.
EXPECTED_AFTER_ROUNDING = 0.6
"""What rounding weights for a configuration leaves of its loss, as a first guess: 0.62 of text
detection's, all of whose activations are int16."""
MAX_ROUNDINGS = 4

# Prune.
MAX_REFINEMENTS, FEWEST_REFINEMENTS = 32, 4
"""How many configurations are tried."""

# 4-bit weights.
NARROW_GROUP_SIZES = (0, 32)
"""So many 4-bit weights have a multiplier: none, whole channels, or 32."""

OVERSIZED = 1.1
"""Times int8's bytes: above, the search is run from a plain start too."""
