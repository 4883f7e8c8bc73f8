"""Run .edge models: the Session of edgekit, without the toolkit that makes them."""

from .toolkit.errors import UserError
from .toolkit.runtime import IoInfo, Model, Session, kernel_tables

__version__ = "0.1.0"
__all__ = ["IoInfo", "Model", "Session", "UserError", "__version__", "kernel_tables"]
