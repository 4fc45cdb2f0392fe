"""What stands in for ONNX Runtime's Python module: its classes, its errors, its import."""
