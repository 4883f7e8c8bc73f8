"""edgekit: quantize ONNX models and run them on small devices."""

__version__ = "0.1.0"
