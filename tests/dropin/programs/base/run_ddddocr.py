"""ddddocr reads short texts and finds them in pictures: models of 54 and 20 MB."""

from __future__ import annotations

import io
import json

import ddddocr
from pictures import shapes_picture, text_picture


def as_png(picture):
    stream = io.BytesIO()
    picture.save(stream, "PNG")
    return stream.getvalue()


reader = ddddocr.DdddOcr(show_ad=False)
finder = ddddocr.DdddOcr(det=True, ocr=False, show_ad=False)
words = [reader.classification(as_png(text_picture([word]))) for word in ("7d4k", "Xy12")]
print(json.dumps([words, finder.detection(as_png(shapes_picture()))]))
