"""The registry of operator rules: each proposes some nodes on values that are there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bench.fuzzing.growing import Array, Growing

Rule = Callable[[Growing], object]

RULES: dict[str, Rule] = {}


def rule(function: Rule) -> Rule:
    """Register a rule by its name."""
    RULES[function.__name__] = function
    return function


def is_float(value: Array) -> bool:
    """Whether its elements are floating-point numbers."""
    return value.dtype.kind == "f"


def is_single(value: Array) -> bool:
    """Whether its elements are float32, the one type that every kernel has."""
    return bool(value.dtype == np.float32)


def is_integer(value: Array) -> bool:
    """Whether its elements are 32 or 64-bit integers."""
    return value.dtype in (np.int32, np.int64)


def is_number(value: Array) -> bool:
    """Whether one can reckon with it in every kernel."""
    return value.dtype in (np.float32, np.float64, np.int32, np.int64)


def is_bool(value: Array) -> bool:
    """Whether its elements are true or false."""
    return value.dtype == np.bool_


def has_axes(value: Array) -> bool:
    """Whether it is no scalar."""
    return value.ndim > 0


def is_whole(value: Array) -> bool:
    """Whether it is no scalar and has elements: some kernels fault on what is empty."""
    return value.ndim > 0 and value.size > 0


def of_rank(*ranks: int) -> Callable[[Array], bool]:
    """Float32 with elements and of such a rank."""
    return lambda value: is_single(value) and value.ndim in ranks and value.size > 0


def weights(g: Growing, *shape: int) -> str:
    """A constant of small float32 numbers."""
    return g.constant((g.rng.standard_normal(shape) / 2).astype(np.float32))


def integers(g: Growing, *numbers: int) -> str:
    """A constant of int64 numbers."""
    return g.constant(np.array(numbers, np.int64))


def axis_of(g: Growing, value: Array) -> int:
    """Any axis, from either end."""
    return g.random.randrange(-value.ndim, value.ndim)


def some_axes(g: Growing, value: Array) -> list[int]:
    """One or more axes."""
    return sorted(g.random.sample(range(value.ndim), g.random.randint(1, value.ndim)))
