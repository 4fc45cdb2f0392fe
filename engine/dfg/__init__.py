"""ONNX file to data-flow graph: reading, shape of the graph, cutting task sets out."""
