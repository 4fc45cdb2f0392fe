"""What the command says about an input: its name, shape, element type and range of values.

``image:batch=4x3x224x224:float32`` reads: the input ``image``, of four axes, the first one
dynamic, called ``batch`` and of size 4 in the example, elements of type float32.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np

from surplus.engine.errors import ConfigError

DTYPES: dict[str, np.dtype[Any]] = {
    **{
        name: np.dtype(name)
        for name in ("float32", "float16", "float64", "int64", "int32", "int16", "int8", "uint8")
    },
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "bool": np.dtype(np.bool_),
}
"""Element types that torch, numpy and ONNX share."""

EXAMPLE_SIZE = 2
"""Size of a dynamic axis in the example, unless given: torch treats 0 and 1 as special."""

_NAME = re.compile(r"[A-Za-z_][\w.]*")
_NUMBER = re.compile(r"[0-9]+")
_FORM = "expected NAME:SHAPE:DTYPE, for example image:batchx3x224x224:float32"


@dataclass(frozen=True)
class Axis:
    """One axis: its size in the example, >= 1, and its name if it is dynamic."""

    size: int
    name: str | None = None


@dataclass(frozen=True)
class InputSpec:
    """One argument of ``forward``.

    Parameters
    ----------
    low, high : float or None
        Random values lie in [low, high); None: by the element type (``samples.py``).
    """

    name: str
    axes: tuple[Axis, ...]
    dtype: str
    low: float | None = None
    high: float | None = None

    @property
    def dynamic(self) -> dict[int, str]:
        """Names of the dynamic axes, by position."""
        return {i: axis.name for i, axis in enumerate(self.axes) if axis.name is not None}

    def shape(self, sizes: dict[str, int]) -> tuple[int, ...]:
        """The shape with the dynamic axes at ``sizes``, the others as they are."""
        return tuple(sizes.get(axis.name or "", axis.size) for axis in self.axes)


def parse_inputs(texts: Sequence[str], ranges: Sequence[str] = ()) -> tuple[InputSpec, ...]:
    """Read every ``--input`` and ``--range``, in the order of ``forward``'s arguments.

    Raises
    ------
    ConfigError
        Naming the text and what is wrong with it.
    """
    specs = [_parse_input(text) for text in texts]
    names = [spec.name for spec in specs]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"--input {name}: given twice")
    bounds = _parse_ranges(ranges, names)
    sizes = _sizes(texts, specs)
    return tuple(_completed(spec, sizes, bounds.get(spec.name)) for spec in specs)


def example_sizes(specs: Sequence[InputSpec]) -> dict[str, int]:
    """Size of every dynamic axis in the example, in order of appearance."""
    return {a.name: a.size for spec in specs for a in spec.axes if a.name is not None}


def _parse_input(text: str) -> InputSpec:
    parts = text.split(":")
    if len(parts) != 3:
        raise ConfigError(f"--input {text}: {_FORM}")
    name, shape, dtype = parts
    if not _NAME.fullmatch(name):
        raise ConfigError(f"--input {text}: {name!r} is not a name; {_FORM}")
    if dtype not in DTYPES:
        raise ConfigError(
            f"--input {text}: unknown element type {dtype!r}; there are: {', '.join(DTYPES)}"
        )
    # A comma lets an axis have a name with an x in it.
    pieces = shape.split("," if "," in shape else "x") if shape else []
    return InputSpec(name, tuple(_parse_axis(piece, text) for piece in pieces), dtype)


def _parse_axis(piece: str, text: str) -> Axis:
    """A size, a name, or NAME=SIZE; a size of 0 stands for "not given" until ``_completed``."""
    if _NUMBER.fullmatch(piece):
        return Axis(_size(piece, text))
    name, given, size = piece.partition("=")
    if not _NAME.fullmatch(name):
        raise ConfigError(f"--input {text}: {piece!r} is neither a size nor a name of an axis")
    return Axis(_size(size, text) if given else 0, name)


def _size(digits: str, text: str) -> int:
    if not _NUMBER.fullmatch(digits) or not 1 <= int(digits) < 2**31:
        raise ConfigError(f"--input {text}: expected a size >= 1, got {digits!r}")
    return int(digits)


def _sizes(texts: Sequence[str], specs: Sequence[InputSpec]) -> dict[str, int]:
    found: dict[str, int] = {}
    for text, spec in zip(texts, specs, strict=True):
        for axis in spec.axes:
            if axis.name is None or not axis.size:
                continue
            if found.setdefault(axis.name, axis.size) != axis.size:
                other = found[axis.name]
                raise ConfigError(f"--input {text}: {axis.name} is {other} before, now {axis.size}")
    return found


def _completed(
    spec: InputSpec, sizes: dict[str, int], bounds: tuple[float, float] | None
) -> InputSpec:
    axes = tuple(
        axis if axis.name is None else replace(axis, size=sizes.get(axis.name, EXAMPLE_SIZE))
        for axis in spec.axes
    )
    if bounds is None:
        return replace(spec, axes=axes)
    _check_bounds(spec, *bounds)
    return replace(spec, axes=axes, low=bounds[0], high=bounds[1])


def _parse_ranges(texts: Sequence[str], names: Sequence[str]) -> dict[str, tuple[float, float]]:
    found: dict[str, tuple[float, float]] = {}
    for text in texts:
        name, _, rest = text.partition("=")
        low, _, high = rest.partition(":")
        try:
            bounds = float(low), float(high)
        except ValueError:
            raise ConfigError(
                f"--range {text}: expected NAME=LOW:HIGH, for example tokens=0:30522"
            ) from None
        if name not in names:
            raise ConfigError(f"--range {text}: no --input {name}; there are: {', '.join(names)}")
        if name in found:
            raise ConfigError(f"--range {name}: given twice")
        found[name] = bounds
    return found


def _check_bounds(spec: InputSpec, low: float, high: float) -> None:
    text = f"--range {spec.name}={low:g}:{high:g}"
    dtype = DTYPES[spec.dtype]
    # Written so that nan fails, too.
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ConfigError(f"{text}: expected finite LOW < HIGH (HIGH itself is left out)")
    if dtype.kind == "b":
        raise ConfigError(f"{text}: {spec.name} is bool and has no range")
    if dtype.kind not in "iu":
        return
    limits = np.iinfo(dtype)
    if low != int(low) or high != int(high):
        raise ConfigError(f"{text}: {spec.name} is {spec.dtype} and needs whole numbers")
    if low < limits.min or high - 1 > limits.max:
        raise ConfigError(f"{text}: beyond {spec.dtype}, {limits.min}..{limits.max}")
