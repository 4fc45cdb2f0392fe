"""Inputs, random or the user's, on which a module and its ONNX form are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surplus.engine.convert.input_spec import DTYPES, InputSpec, example_sizes
from surplus.engine.errors import ConfigError

Array = np.ndarray[Any, Any]

_INDICES = {"int16", "int32", "int64"}


@dataclass(frozen=True)
class Sample:
    """Inputs by name, drawn with ``seed`` or read from a file, the dynamic axes at ``sizes``."""

    seed: int | str
    sizes: dict[str, int]
    inputs: dict[str, Array]

    @property
    def label(self) -> str:
        """Which one it is, in words."""
        sizes = "".join(f", {name}={size}" for name, size in self.sizes.items())
        drawn = f"seed {self.seed}" if isinstance(self.seed, int) else self.seed
        return f"{drawn}{sizes}"


def draw(specs: Sequence[InputSpec], seed: int, sizes: dict[str, int]) -> Sample:
    """Draw every input.

    Floats are normal with mean 0 and deviation 1, or uniform in the range that was given. Integers
    are uniform in their range; by default that is 0 and 1, valid as indices of any table, but
    all values of types of 8 bits, which are data rather than indices. Booleans are both alike.
    """
    rng = np.random.default_rng(seed)
    return Sample(seed, dict(sizes), {spec.name: _array(spec, sizes, rng) for spec in specs})


def given(specs: Sequence[InputSpec], arrays: Mapping[str, Array], file: str) -> Sample:
    """Inputs of the user's own.

    Raises
    ------
    ConfigError
        Naming the input that is missing, unknown, or of a wrong type or shape.
    """
    for names, what in (
        (arrays.keys() - {s.name for s in specs}, "no --input is called"),
        ({s.name for s in specs} - arrays.keys(), "it has no"),
    ):
        if names:
            raise ConfigError(f"--inputs {file}: {what} {', '.join(sorted(names))}")
    sizes: dict[str, int] = {}
    for spec in specs:
        array = arrays[spec.name]
        if array.dtype != DTYPES[spec.dtype]:
            raise ConfigError(f"--inputs {file}: {spec.name} is {array.dtype}, not {spec.dtype}")
        if array.ndim == len(spec.axes):
            for axis, size in zip(spec.axes, array.shape, strict=True):
                if axis.name is not None:
                    sizes.setdefault(axis.name, size)
        if array.shape != spec.shape(sizes) or 0 in array.shape:
            raise ConfigError(
                f"--inputs {file}: {spec.name} has shape {array.shape}, not"
                f" ({', '.join(str(axis.name or axis.size) for axis in spec.axes)})"
            )
    return Sample(file, sizes, {spec.name: arrays[spec.name] for spec in specs})


def other_sizes(specs: Sequence[InputSpec]) -> dict[str, list[int]]:
    """For every dynamic axis, sizes other than the example's to try, the most useful first.

    One more than in the example, or twice that where a module wants even sizes or powers of two;
    and 1, which is what most queries have.
    """
    found = {}
    for name, size in example_sizes(specs).items():
        tried = (size + 1, 2 * size, 1)
        found[name] = [other for other in dict.fromkeys(tried) if other != size]
    return found


def _array(spec: InputSpec, sizes: dict[str, int], rng: np.random.Generator) -> Array:
    shape, dtype = spec.shape(sizes), DTYPES[spec.dtype]
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        low, high = _whole_bounds(spec)
        return np.asarray(rng.integers(low, high, shape, dtype=dtype))
    if spec.low is None or spec.high is None:
        return np.asarray(rng.standard_normal(shape)).astype(dtype)
    return np.asarray(rng.uniform(spec.low, spec.high, shape)).astype(dtype)


def _whole_bounds(spec: InputSpec) -> tuple[int, int]:
    if spec.low is not None and spec.high is not None:
        return int(spec.low), int(spec.high)
    if spec.dtype in _INDICES:
        return 0, 2
    limits = np.iinfo(DTYPES[spec.dtype])
    return int(limits.min), int(limits.max) + 1
