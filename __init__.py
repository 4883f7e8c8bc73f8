"""edgekit: quantize ONNX models and run them on small devices with bit-identical results.

Only the names exported here are public; everything else may change without notice.
"""

__version__ = "0.1.0"

from .calibration import CalibrationError, ImageOptions
from .toolkit.accuracy import Report
from .toolkit.custom_operators import register_op
from .toolkit.errors import UnsupportedError, UserError
from .toolkit.hand_over import HandOver
from .toolkit.inspection import Inspection, inspect
from .toolkit.ops.custom.operator import CustomCall, CustomOp, Operand
from .toolkit.pipeline import Converted, Quantized, check, convert, quantize
from .toolkit.preprocessing import FrontEnd, front_end
from .toolkit.quantize import Budget, Decision
from .toolkit.runtime import IoInfo, Session

__all__ = [
    "Budget",
    "CalibrationError",
    "Converted",
    "CustomCall",
    "CustomOp",
    "Decision",
    "FrontEnd",
    "HandOver",
    "ImageOptions",
    "Inspection",
    "IoInfo",
    "Operand",
    "Quantized",
    "Report",
    "Session",
    "UnsupportedError",
    "UserError",
    "__version__",
    "check",
    "convert",
    "front_end",
    "inspect",
    "quantize",
    "register_op",
]
