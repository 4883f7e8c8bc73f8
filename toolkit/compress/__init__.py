"""Ways to make an int8 graph smaller; one method a file."""

from .constant_channels import remove_constant_channels

__all__ = ["remove_constant_channels"]
