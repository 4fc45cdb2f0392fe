"""Draws image.jpg: the street scene that the detectors' scores are calibrated on."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from surplus.models.images import street

SIZE_PIXELS = 480

if __name__ == "__main__":
    picture = Image.fromarray(street(SIZE_PIXELS, SIZE_PIXELS))
    picture.save(Path(__file__).with_name("image.jpg"), quality=92, optimize=True)
