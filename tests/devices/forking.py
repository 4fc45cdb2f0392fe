"""Loads a model, forks, asks it on both sides; the child says what it got and exits as usual."""

import os
import sys
from pathlib import Path

import numpy as np

import surplus
from surplus.engine.errors import DeviceError

path, cache, devices = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
image = {"image": np.zeros((1, 1, 28, 28), np.float32)}
model = surplus.load(path, devices, cache=cache)
before = model.run(image)["logits"]
if os.fork() == 0:
    for ask in (model.run, model.submit):
        try:
            ask(image)
        except DeviceError as error:
            print(error)
    sys.exit(0)
assert os.wait()[1] == 0
assert np.array_equal(model.run(image)["logits"], before)
print("parent goes on")
