"""Several models as one: the steps of an ensemble, merged into one ONNX graph where that can be."""
