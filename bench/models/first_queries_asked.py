"""Nanoseconds of a model's queries after the first ones, in this fresh process, as JSON.

``first_queries_asked.py CONTENDER MODEL FIRST LAST SECONDS``
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np


def asker(contender: str, path: str, inputs: dict[str, Any]) -> Callable[[], object]:
    """What asks one query."""
    if contender == "surplus":
        import surplus

        model = surplus.load(path)
        return lambda: model.run(inputs)
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = int(contender[-1])
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, inputs)


def main() -> None:
    """Ask, and say what each query took."""
    contender, path, first, last, most_s = sys.argv[1:]
    ask = asker(contender, path, dict(np.load(path.replace(".onnx", ".npz"))))
    for _ in range(int(first)):
        ask()
    times: list[int] = []
    until_ns = time.perf_counter_ns() + int(float(most_s) * 1e9)
    while len(times) < int(last) - int(first) and time.perf_counter_ns() < until_ns:
        began_ns = time.perf_counter_ns()
        ask()
        times.append(time.perf_counter_ns() - began_ns)
    print(json.dumps(times))


if __name__ == "__main__":
    main()
