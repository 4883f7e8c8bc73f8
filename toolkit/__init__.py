"""ONNX in, `.edge` out: what runs on the developer's machine."""
