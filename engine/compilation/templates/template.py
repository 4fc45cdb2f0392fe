"""What a template has: the tilings that it allows, and a layer's code in one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from surplus.engine.compilation.tvm_here import part, tvm

NAME = "layer"
_MOST_REGISTERS = 28
"""Sums at once; AVX-512 has 32 vector registers, the rest are operands."""


class Tiling(NamedTuple):
    """Sizes of the tiles of a layer; which extents they are of is the template's.

    Parameters
    ----------
    outs, rows : int
        Slices and rows of a task: what one thread computes before it takes the next one.
    wide, long : int
        Slices and places whose sums are in registers.
    unrolled : int
        Steps of the sum that are written out.
    """

    outs: int
    rows: int
    wide: int
    long: int
    unrolled: int


@dataclass(frozen=True)
class Measures:
    """Algorithm 1's two axes.

    Parameters
    ----------
    parallelism : int
        Tasks that could run at once, times steps that are unrolled.
    block : int
        Bytes of what a task reads and writes: its locality.
    """

    parallelism: int
    block: int


@dataclass(frozen=True)
class Template:
    """A way to compute one kind of layers.

    Parameters
    ----------
    tilings : callable
        All that are worth a try, of a work.
    function : callable
        The schedule of a work in a tiling; its function is named ``NAME``.
    measures : callable
        Of a work in a tiling.
    """

    tilings: Callable[[Any], list[Tiling]]
    function: Callable[[Any, Tiling], Any]
    measures: Callable[[Any, Tiling], Measures]


def divisors(count: int) -> list[int]:
    """Ascending."""
    return [k for k in range(1, count + 1) if count % k == 0]


def register_tiles(slices: int, places: int) -> list[tuple[int, int]]:
    """Slices and places whose sums fill the registers best, at most three pairs."""
    fitting = [
        (wide, long)
        for wide in divisors(slices)
        for long in divisors(places)
        if wide <= 4 and wide * long <= _MOST_REGISTERS
    ]
    # A sum needs a load of each of its slices and places: the fewer loads a sum, the better.
    fitting.sort(key=lambda t: ((t[0] + t[1]) / (t[0] * t[1]), t[0] * t[1] < 8, t))
    return fitting[:3]


def some(values: list[int], most: int) -> list[int]:
    """Evenly from a list, its ends among them."""
    if len(values) <= most:
        return values
    steps = max(1, most - 1)
    return [values[k * (len(values) - 1) // steps] for k in range(most)]


def scheduled(placeholders: list[Any], result: Any) -> Any:
    """A schedule of a function that has not been touched."""
    te, s_tir = part("te"), part("s_tir")
    function = te.create_prim_func([*placeholders, result]).with_attr("global_symbol", NAME)
    schedule = s_tir.Schedule(tvm().IRModule({NAME: function}))
    schedule.work_on(NAME)
    return schedule
