"""Models, loads, memory and the server, beside ONNX Runtime."""
