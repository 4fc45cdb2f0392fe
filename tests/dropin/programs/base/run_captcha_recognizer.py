"""captcha-recognizer finds the gap that a slider must fill: a segmentation model."""

from __future__ import annotations

import json

import numpy as np
from captcha_recognizer.slider import Slider
from pictures import shapes_picture

picture = np.asarray(shapes_picture(344, 384)).copy()
picture[120:180, 200:260] //= 3
box, confidence = Slider().identify(source=picture)
print(json.dumps([[float(number) for number in box], float(confidence)]))
