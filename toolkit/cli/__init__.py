"""The `edgekit` command: parse, call, print. JSON goes to stdout, all else to stderr."""

from .main import main

__all__ = ["main"]
