"""NudeNet detects in pictures: one model, opened from a path."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from nudenet import NudeDetector
from pictures import shapes_picture

detector = NudeDetector()
with TemporaryDirectory() as folder:
    paths = [str(Path(folder) / f"{i}.png") for i in range(3)]
    for path, size in zip(paths, ((640, 480), (300, 500), (640, 640)), strict=True):
        shapes_picture(*size).save(path)
    print(json.dumps([detector.detect(path) for path in paths] + detector.detect_batch(paths)))
image = np.asarray(shapes_picture())[None].transpose(0, 3, 1, 2)[:, :, :320, :320] / np.float32(255)
session = detector.onnx_session
raw = session.run(None, {detector.input_name: image.astype(np.float32)})
print(json.dumps([array.sum(dtype=np.float64) / array.size for array in raw]))
