"""Profiles as data: what the detectors cost on a CPU and on a GPU that need not be here.

``engine place MODEL --profile bench/profiles/NAME.json.gz`` works from a clean clone, for the
model that ``engine models build NAME`` writes. ``python -m bench.profiles`` makes them anew.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent

DETECTORS = ("faster_rcnn", "mask_rcnn", "ssd", "ssd_per_class")


def profile_path(name: str) -> Path:
    """File of a model's profile."""
    return FOLDER / f"{name}.json.gz"
