"""A deterministic street scene, and how each family of vision models wants its image."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from surplus.models.builder import Array

# Means that the zoo's detectors subtract, in the order blue, green, red.
_BGR_MEAN = np.array([102.9801, 115.9465, 122.7717], np.float32)
_RGB_MEAN = np.array([0.485, 0.456, 0.406], np.float32)
_RGB_STD = np.array([0.229, 0.224, 0.225], np.float32)


def street(height: int, width: int, seed: int = 0) -> Array:
    """Draw a street: sky, houses with windows, cars and people.

    Coordinates are fractions of the picture, so that every size shows the same scene. Seed 0
    is the picture that the detectors are calibrated on; others move and colour the objects anew.

    Parameters
    ----------
    height, width : int
        Size in pixels.
    seed : int
        Scene.

    Returns
    -------
    numpy.ndarray
        uint8 (height, width, 3), red-green-blue.
    """
    rng = np.random.default_rng([seed, 7])
    y = ((np.arange(height, dtype=np.float32) + 0.5) / height)[:, None]
    x = ((np.arange(width, dtype=np.float32) + 0.5) / width)[None, :]
    picture = _backdrop(y, x)
    for mask, colour in _objects(rng, y, x):
        # A light from the upper left shades every object.
        shade = 1.1 - 0.25 * y - 0.1 * x
        picture = np.where(mask[..., None], colour * shade[..., None], picture)
    return np.clip(np.rint(picture), 0, 255).astype(np.uint8)


def rcnn_input(picture: Array) -> Array:
    """Convert uint8 (height, width, 3) RGB to float32 (3, height, width) BGR minus the mean."""
    planes = (picture[..., ::-1].astype(np.float32) - _BGR_MEAN).transpose(2, 0, 1)
    return np.asarray(planes, order="C")


def normalized_input(picture: Array) -> Array:
    """Convert uint8 (height, width, 3) RGB to float32 (1, 3, height, width), zero mean."""
    scaled = (picture.astype(np.float32) / 255.0 - _RGB_MEAN) / _RGB_STD
    return np.asarray(scaled.transpose(2, 0, 1)[None], order="C")


def _backdrop(y: Array, x: Array) -> Array:
    sky = np.array([110.0, 160.0, 230.0]) + (y[..., None] * np.array([180.0, 120.0, 20.0]))
    road = np.array([90.0, 90.0, 95.0]) + ((y - 0.65)[..., None] * np.array([120.0, 115.0, 110.0]))
    sky, road = np.broadcast_arrays(sky + 0 * x[..., None], road + 0 * x[..., None])
    return np.where(y[..., None] < 0.65, sky, road)


def _objects(rng: np.random.Generator, y: Array, x: Array) -> Iterator[tuple[Array, Array]]:
    yield _ellipse(y, x, 0.12, rng.uniform(0.1, 0.9), 0.06, 0.06), np.array([255.0, 240.0, 170.0])
    for left in np.arange(0.0, 1.0, 0.2):
        yield from _house(rng, y, x, left)
    yield _box(y, x, 0.80, 0.815, 0.0, 1.0) & ((x * 8) % 1.0 < 0.6), np.full(3, 235.0)
    for base, step in ((0.76, 0.34), (0.93, 0.45)):
        for left in np.arange(0.03, 0.75, step):
            yield from _car(rng, y, x, base, left + rng.uniform(0.0, 0.1))
    for _ in range(5):
        yield from _person(rng, y, x)


def _house(
    rng: np.random.Generator, y: Array, x: Array, left: float
) -> Iterator[tuple[Array, Array]]:
    roof = rng.uniform(0.15, 0.4)
    right = left + rng.uniform(0.14, 0.19)
    yield _box(y, x, roof, 0.65, left, right), rng.uniform(70.0, 220.0, 3)
    glass = rng.uniform(30.0, 110.0, 3)
    windows = ((y * 14) % 1.0 < 0.55) & (((x - left) * 22) % 1.0 > 0.45)
    yield _box(y, x, roof + 0.03, 0.58, left + 0.01, right - 0.01) & windows, glass


def _car(
    rng: np.random.Generator, y: Array, x: Array, base: float, left: float
) -> Iterator[tuple[Array, Array]]:
    colour = rng.uniform(20.0, 250.0, 3)
    length = rng.uniform(0.2, 0.28)
    middle = left + length / 2
    yield _ellipse(y, x, base - 0.07, middle, 0.055, length * 0.32), colour * 0.8
    yield _ellipse(y, x, base - 0.075, middle, 0.035, length * 0.26), np.array([60.0, 80.0, 100.0])
    yield _box(y, x, base - 0.07, base - 0.01, left, left + length), colour
    for wheel in (left + length * 0.22, left + length * 0.78):
        yield _ellipse(y, x, base - 0.01, wheel, 0.025, 0.025), np.full(3, 25.0)


def _person(rng: np.random.Generator, y: Array, x: Array) -> Iterator[tuple[Array, Array]]:
    middle, feet = rng.uniform(0.05, 0.95), rng.uniform(0.68, 0.97)
    tall = rng.uniform(0.12, 0.2)
    coat, legs = rng.uniform(20.0, 240.0, (2, 3))
    yield _box(y, x, feet - tall * 0.45, feet, middle - tall * 0.09, middle + tall * 0.09), legs
    yield _ellipse(y, x, feet - tall * 0.6, middle, tall * 0.25, tall * 0.13), coat
    yield (
        _ellipse(y, x, feet - tall * 0.92, middle, tall * 0.09, tall * 0.075),
        np.array([225.0, 180.0, 150.0]),
    )


def _box(y: Array, x: Array, top: float, bottom: float, left: float, right: float) -> Array:
    inside: Array = (y >= top) & (y < bottom) & (x >= left) & (x < right)
    return inside


def _ellipse(
    y: Array, x: Array, centre_y: float, centre_x: float, radius_y: float, radius_x: float
) -> Array:
    inside: Array = ((y - centre_y) / radius_y) ** 2 + ((x - centre_x) / radius_x) ** 2 < 1.0
    return inside
