"""The nanoseconds from here to a model's first answer: ``first_answer.py MODEL CACHE``."""

import time

began_ns = time.perf_counter_ns()

import sys  # noqa: E402

import numpy as np  # noqa: E402

import surplus  # noqa: E402

model = surplus.load(sys.argv[1], cache=sys.argv[2])
model.run(dict(np.load(sys.argv[1].replace(".onnx", ".npz"))))
print(time.perf_counter_ns() - began_ns)
