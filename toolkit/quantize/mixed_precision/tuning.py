"""Constants of the mixed-precision search, with reasons."""

from __future__ import annotations

from ...numerics import FLOAT32, W8A8, W8A16

# Limits on measurements in multiply-accumulates, so that they depend on the size of the model.
MEASURING = 4e11
"""For the noise of single changes."""
JUDGING = 1.5e12
"""For running the metric while changes are pruned."""
ROUNDING = 3e12
"""For rounding weights again for configurations."""
PACKING, FEWEST_FILES = 60_000, 16
"""Operators in the files that are packed to see what single changes cost, and the minimum number of
these files: an unrolled recurrent network has a thousand operators, and packing it takes longer
than running it."""

# Candidates: the noise of single changes.
MAX_MEASURED = 400
FEWEST_SAMPLES = 4
BLOCK_PARTS = 4
"""A block of changes that was measured together is measured again in this many parts."""

# Limits.
METRIC_TOLERANCE = 1e-9
"""Relative tolerance of a limit on the metric, for float rounding."""
MOST_DB = 600.0
"""More than the largest difference of two ratios of decibels.py."""

# Rank.
NODE_BYTES = 64
"""Minimum cost of a node that leaves int8: it is slower even if it takes no bytes."""
ARENA_WEIGHT = 1 / 16
"""The cost of a byte of arena in bytes of file: all layers share it, and max_arena can limit it."""
PROMOTED_FIRST = (W8A8, W8A16), (FLOAT32,)
"""Changes to float32 come last: an order by gain per byte alone may use the most expensive changes
too early."""
MAX_FITTED = 128
"""Number of checks of changes against size limits, for each order."""

# Promote.
EXPECTED_AFTER_ROUNDING = 0.6
"""Initial estimate of the loss that remains after rounding weights for a configuration: 0.62 for
text detection with all activations in int16."""
MAX_ROUNDINGS = 4

# Prune.
MAX_REFINEMENTS, FEWEST_REFINEMENTS = 32, 4
"""Maximum and minimum number of configurations to try."""

# 4-bit weights.
NARROW_GROUP_SIZES = (0, 32)
"""Group sizes of 4-bit weights: whole channels, or 32."""

OVERSIZED = 1.1
"""Size relative to int8 above which the search is repeated from a plain quantization."""
