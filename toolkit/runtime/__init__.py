"""The C runtime inside this process. The only folder that imports cffi."""

from .heap import return_freed, share_heap
from .kernels import OpForm, Planner, kernel_tables, scratch_bytes
from .model import IoInfo, Model, OpOutput
from .session import MAX_MEMORY, Session

__all__ = [
    "MAX_MEMORY",
    "IoInfo",
    "Model",
    "OpForm",
    "OpOutput",
    "Planner",
    "Session",
    "kernel_tables",
    "return_freed",
    "scratch_bytes",
    "share_heap",
]
