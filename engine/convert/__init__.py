"""From a torch module to a checked ONNX file; torch itself is imported only when it is needed."""
