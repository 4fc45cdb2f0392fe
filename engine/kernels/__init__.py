"""Libraries of kernels beside ONNX Runtime's: which are here, asked for, tried.

A library is a file with a ``KernelLibrary`` and an entry in the registry; in the core it is a
folder and a line (engine/core/kernels).
"""
