"""A detector on every core: build it, load it, ask it, and see where its time goes.

Run it in any folder; it writes ``detector.onnx`` there. The detector's weights are random: it finds
boxes, not objects.
"""

from __future__ import annotations

import surplus
from surplus import models

# A network that comes with the package; any ONNX file will do.
models.save(models.build("ssd_mobilenet_v1"), "detector.onnx")
inputs = models.example_inputs("ssd_mobilenet_v1")

# Operators are measured, candidate plans run in turns, the fastest is kept for the next start.
# Without tune="now" the model would answer at once, and be measured beside its first queries.
model = surplus.load("detector.onnx", inputs=inputs, tune="now")
print(f"plan: {model.plan.name}, {len(model.plan.segments)} segments")

outputs = model.run(inputs)
for name, array in outputs.items():
    print(f"{name}: {array.dtype} {array.shape}")

# A traced query knows its critical path; the parts add up to all of its time.
model.run(inputs, traced=True)
breakdown = model.breakdown()
for (category, resource), time_ns in breakdown.parts.items():
    print(f"{category:12} {resource:8} {time_ns / 1e6:8.3f} ms")
print(f"{'in all':21} {breakdown.total_ns / 1e6:8.3f} ms")
