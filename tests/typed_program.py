"""A program that a type checker reads: what it reveals, and which mistakes it finds.

Not run. A line's comment says what the checker is to say of it (test_types.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import assert_type

import numpy as np
from onnx import ModelProto

import surplus

model = surplus.load("m.onnx", "cpu:2", tune_s=20, kernels="auto", policy_options={"time_ms": 5})
assert_type(model, surplus.Model)
assert_type(model.run({"x": np.zeros(3)}, ["y"], timeout_s=1.5), surplus.Outputs)
future = model.submit({"x": [1.0, 2.0]}, deadline_s=0.05, priority=3)
assert_type(future, surplus.Future)
assert_type(future.result(timeout=1), surplus.Outputs)
assert_type(future.cancelled(), bool)
surplus.load(b"bytes", devices="cpu:2")
surplus.load(Path("m.onnx"), on_late="reject", deadline_s=0.1)
surplus.load(ModelProto())
with surplus.InferenceSession(Path("m.onnx"), providers=["CPU"], devices="cpu:2") as session:
    session.run(None, {"x": np.zeros(3)})
with surplus.Server({"m": model}, 8001, host="::1", max_in_flight=3) as server:
    assert_type(server.address, str)
surplus.LazyModel("m.onnx", surplus.LoadParams(devices="cpu:1")).run({}, best_effort=True)


async def ask() -> None:
    """What is awaited."""
    assert_type(await model.infer({"x": np.zeros(3)}, deadline_ns=5), surplus.Outputs)
    assert_type(await future, surplus.Outputs)


def errs() -> None:
    """Mistakes."""
    surplus.load("m.onnx", kernals="auto")  # error: misspelt
    surplus.load("m.onnx", tune_s="20")  # error: type
    surplus.load("m.onnx", tune="never")  # error: value
    surplus.load(3)  # error: no model
    surplus.InferenceSession("m.onnx", devises="cpu:2")  # error: misspelt
    surplus.InferenceSession("m.onnx", deadline_s="1")  # error: type
    surplus.Server({"m": model}, max_inflight=3)  # error: misspelt
    surplus.Server({"m": model}, max_in_flight="3")  # error: type
    model.run({"x": 1}, timeuot_s=1)  # error: misspelt
    model.run({"x": 1}, timeout_s="1")  # error: type
    model.submit({"x": 1}, timeout=1)  # error: an old name
    model.native  # error: not for users  # noqa: B018
    surplus.EngnieError  # error: misspelt  # noqa: B018
