"""A recommender under load: many queries in flight instead of one after the other.

A query of a recommender is short, and the time to hand it over counts. ``submit`` returns at once,
and the core runs as many queries side by side as there are lanes.
"""

from __future__ import annotations

import time

import surplus
from surplus import models

QUERIES = 200

models.save(models.build("deepfm"), "recommender.onnx")
inputs = models.example_inputs("deepfm")
model = surplus.load("recommender.onnx", inputs=inputs, tune="now")
model.run(inputs)

began = time.perf_counter()
for _ in range(QUERIES):
    model.run(inputs)
alone = QUERIES / (time.perf_counter() - began)

began = time.perf_counter()
futures = [model.submit(inputs) for _ in range(QUERIES)]
answers = [future.result(timeout=60) for future in futures]
together = QUERIES / (time.perf_counter() - began)

print(f"one after the other {alone:.0f} queries/s, in flight together {together:.0f}")

# Whether or not a query overlaps with others, its answer has the same bits.
expected = model.run(inputs)
assert all((answer[name] == expected[name]).all() for answer in answers for name in expected)
