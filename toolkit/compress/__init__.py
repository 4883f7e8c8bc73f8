"""Ways to make an int8 graph smaller; one method a file."""

from .constant_channels import remove_constant_channels
from .selection import most_within
from .weight_storage import (
    COMPRESSIONS,
    Coding,
    Compression,
    StoredLayer,
    coarse_weights,
    store_weights,
    stored_layers,
)

__all__ = [
    "COMPRESSIONS",
    "Coding",
    "Compression",
    "StoredLayer",
    "coarse_weights",
    "most_within",
    "remove_constant_channels",
    "store_weights",
    "stored_layers",
]
