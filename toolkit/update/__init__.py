"""Updates of files on devices: packed for transport, or as differences to the file there."""

from .container import Header, applied, header, made

__all__ = ["Header", "applied", "header", "made"]
