"""RapidOCR reads text: three models, of which one takes any size and one says its alphabet."""

from __future__ import annotations

import json

import numpy as np
from pictures import text_picture
from rapidocr_onnxruntime import RapidOCR

ocr = RapidOCR()
for lines in (["Many models on one machine", "deadlines kept 2026"], ["cores shared"]):
    found, _ = ocr(np.asarray(text_picture(lines)))
    print(
        json.dumps([[np.asarray(box).tolist(), text, float(score)] for box, text, score in found])
    )
