"""edgekit: quantize ONNX models and run them on small devices with bit-identical results.

Only the names exported here are public; everything else may change without notice.
"""

__version__ = "0.1.0"

from typing import TYPE_CHECKING

if TYPE_CHECKING:
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

_HOMES = {
    "CalibrationError": ".calibration",
    "ImageOptions": ".calibration",
    "Report": ".toolkit.accuracy",
    "register_op": ".toolkit.custom_operators",
    "UnsupportedError": ".toolkit.errors",
    "UserError": ".toolkit.errors",
    "HandOver": ".toolkit.hand_over",
    "Inspection": ".toolkit.inspection",
    "inspect": ".toolkit.inspection",
    "CustomCall": ".toolkit.ops.custom.operator",
    "CustomOp": ".toolkit.ops.custom.operator",
    "Operand": ".toolkit.ops.custom.operator",
    "Converted": ".toolkit.pipeline",
    "Quantized": ".toolkit.pipeline",
    "check": ".toolkit.pipeline",
    "convert": ".toolkit.pipeline",
    "quantize": ".toolkit.pipeline",
    "FrontEnd": ".toolkit.preprocessing",
    "front_end": ".toolkit.preprocessing",
    "Budget": ".toolkit.quantize",
    "Decision": ".toolkit.quantize",
    "IoInfo": ".toolkit.runtime",
    "Session": ".toolkit.runtime",
}
"""The module of each name. It is imported on first use, because importing all of them takes longer
than many commands run."""

if not TYPE_CHECKING:  # with a __getattr__ in sight, a type checker accepts every name

    def __getattr__(name):
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        found = globals()[name] = getattr(import_module(_HOMES[name], __name__), name)
        return found

    def __dir__():
        return sorted({*globals(), *__all__})
