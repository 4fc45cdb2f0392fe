"""A recommender served from the program that has it, and asked as any client would."""

from __future__ import annotations

import numpy as np

import surplus
from surplus import models

path = models.save(models.build("two_tower"), "two_tower.onnx")
inputs = models.example_inputs("two_tower")

model = surplus.load(path)
with surplus.Server({"recommender": model}, port=0) as server:
    print("serving on", server.address)
    with surplus.Client([server.address]) as client:
        answer = client.infer("recommender", inputs)

for name, wanted in model.run(inputs).items():
    same = np.array_equal(answer[name], wanted)
    print(name, "is the same" if same else "differs", "over the network")
