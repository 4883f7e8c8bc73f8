"""A board on a stream of bytes, asked by the protocol of runtime_c/include/edgekit/link.h."""

from .board import PREFIX, Board, BoardSession, open_board

__all__ = ["PREFIX", "Board", "BoardSession", "open_board"]
