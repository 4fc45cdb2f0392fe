"""The runtime: from an ONNX file to answers on every processor of a machine."""
