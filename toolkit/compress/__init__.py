"""Ways to make an int8 graph smaller; one method a file."""

from .constant_channels import remove_constant_channels
from .weight_storage import (
    COMPRESSIONS,
    Compression,
    StoredLayer,
    codes,
    store_weights,
    stored_layers,
)

__all__ = [
    "COMPRESSIONS",
    "Compression",
    "StoredLayer",
    "codes",
    "remove_constant_channels",
    "store_weights",
    "stored_layers",
]
