"""The same through ONNX Runtime's own package: ``first_answer_onnxruntime.py MODEL``."""

import time

began_ns = time.perf_counter_ns()

import sys  # noqa: E402

import numpy as np  # noqa: E402
import onnxruntime  # noqa: E402

session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
session.run(None, dict(np.load(sys.argv[1].replace(".onnx", ".npz"))))
print(time.perf_counter_ns() - began_ns)
