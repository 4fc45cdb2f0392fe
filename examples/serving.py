"""A recommender served from the program that has it, and asked as any client would."""

from __future__ import annotations

import numpy as np
import tritonclient.grpc as triton

import surplus
from surplus import models

path = models.save(models.build("two_tower"), "two_tower.onnx")
inputs = models.example_inputs("two_tower")

model = surplus.load(path)
with surplus.Server({"recommender": model}, port=0) as server:
    print("serving on", server.address)
    tensors = []
    for name, array in inputs.items():
        tensor = triton.InferInput(
            name, array.shape, {"float32": "FP32", "int64": "INT64"}[str(array.dtype)]
        )
        tensor.set_data_from_numpy(array)
        tensors.append(tensor)
    with triton.InferenceServerClient(server.address) as client:
        answer = client.infer("recommender", tensors)

for name, wanted in model.run(inputs).items():
    same = np.array_equal(answer.as_numpy(name), wanted)
    print(name, "is the same" if same else "differs", "over the network")
