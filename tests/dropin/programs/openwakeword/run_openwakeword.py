"""OpenWakeWord hears words in sound: nine models in a chain, a query each 80 ms."""

from __future__ import annotations

import json

import numpy as np
from openwakeword import Model

rng = np.random.default_rng(0)
time_s = np.arange(16_000 * 3) / 16_000
tone = np.sin(2 * np.pi * 440 * time_s) * np.sin(2 * np.pi * 3 * time_s) ** 2
sound = (tone * 8_000 + rng.normal(0, 500, time_s.size)).astype(np.int16)
model = Model()
for begin in range(0, sound.size, 1280):
    scores = model.predict(sound[begin : begin + 1280])
    print(json.dumps({name: float(score) for name, score in sorted(scores.items())}))
