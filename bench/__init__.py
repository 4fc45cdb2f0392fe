"""Measurements: one script per table, results as JSON, tables rendered from them.

They are of measured plans, so loading waits for these where a table does not say otherwise, and of
ONNX Runtime's kernels, but for the tables of other libraries.
"""

import os

os.environ.setdefault("SURPLUS_TUNE", "now")
os.environ.setdefault("SURPLUS_KERNELS", "onnxruntime")
