"""Conformance tables of libraries: which operators and types they compute as ONNX says.

Small graphs, each around one operator, are answered by a library and by ONNX Runtime; what held is
stored by version and instruction set.
"""
