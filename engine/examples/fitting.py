"""Inputs that a model takes, found by asking which of its tasks fails.

Nobody says which sizes its open dimensions fit together with, nor what its integers mean: indices,
sizes, counts. So one of these is changed at a time, and what lets more of the graph run is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from surplus.engine.dfg.extract import extract
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import EngineError
from surplus.engine.native import open_session
from surplus.engine.profiling.calibrate import dim_key, initial_values, made_up_shape, random_inputs

Array = np.ndarray[Any, Any]
Choice = tuple[tuple[str, ...], int | str]
"""Names of dimensions or of an input, and what they are set to."""

_MOST_ATTEMPTS = 400
_MOST_RUNS = 100_000
"""Of single tasks: graphs of many are not asked so often."""

_MOST_SIZE = 4096
_MOST_ELEMENTS = 1 << 24
"""Of all inputs together: a few open dimensions of one size soon make more than there is memory."""

_MOST_BYTES = 1 << 30
"""Of what the tasks have made: the rest is not run then."""

_USUAL = (1, 2, 3, 4, 5, 6, 7, 8, 10, 16, 32)


def fitting_inputs(graph: Graph, dims: Mapping[str, int]) -> dict[str, Any] | None:
    """Seeded inputs that the whole graph runs with; None if none were found.

    Always the same ones, after at most 400 runs of the graph, of a large one fewer.

    Parameters
    ----------
    dims : mapping of str to int
        Sizes that are known, by ``dim_key``; the others are 1 where nothing else helps.
    """
    search = _Search(graph, dims)
    return search.found() if search.is_possible else None


class _Search:
    """Climbs from made-up inputs to such that run, by how far the graph runs."""

    def __init__(self, graph: Graph, dims: Mapping[str, int]) -> None:
        self._graph = graph
        self._known = dict(dims)
        self._sizes: dict[str, int] = {}
        self._fills: dict[str, str] = {}
        count = len(graph.tasks)
        self._left = min(_MOST_ATTEMPTS, _MOST_RUNS // max(1, count))
        self._sessions: list[Any] = []
        self.is_possible = self._left > 0 and self._open()

    def _open(self) -> bool:
        """A session for each task: how far the whole one came, it does not tell."""
        try:
            for index in range(len(self._graph.tasks)):
                model = extract(self._graph, [index]).SerializeToString()
                folder = self._graph.folder
                session = open_session(model, level="disable_all", weights_folder=folder)
                self._sessions.append(session)
        except (RuntimeError, ValueError, MemoryError, EngineError):
            return False
        return True

    def found(self) -> dict[str, Any] | None:
        reached = self._reached()
        choices = list(self._choices())
        improved = True
        while improved and reached < len(self._sessions):
            improved = False
            for choice in choices:
                if reached == len(self._sessions) or not self._left:
                    break
                before = dict(self._sizes), dict(self._fills)
                self._set(choice)
                further = self._reached()
                if further > reached:
                    reached, improved = further, True
                else:
                    self._sizes, self._fills = before
        return self._inputs() if reached == len(self._sessions) else None

    def _choices(self) -> Iterator[Choice]:
        """All sizes at once first, since inputs that are added have the same."""
        tensors = [t for t in self._graph.summary.inputs if t.shape is not None]
        keys = {
            dim_key(t, axis): axis
            for t in tensors
            for axis, dim in enumerate(t.shape or ())
            if not isinstance(dim, int)
        }
        free = [key for key in keys if key not in self._known]
        groups = [tuple(free)] if len(free) > 1 else []
        for names in [*groups, *((key,) for key in free)]:
            for size in _sizes(self._graph):
                yield names, size
        integers = [t.name for t in tensors if t.elem_type in (6, 7)]
        for name in integers:
            for fill in _FILLS:
                yield (name,), fill

    def _set(self, choice: Choice) -> None:
        names, value = choice
        if isinstance(value, int):
            self._sizes |= dict.fromkeys(names, value)
        else:
            self._fills |= dict.fromkeys(names, value)

    def _inputs(self) -> dict[str, Any]:
        made: dict[str, Any] = dict(random_inputs(self._graph, {**self._sizes, **self._known}))
        return {n: _FILLS[self._fills[n]](a) if n in self._fills else a for n, a in made.items()}

    def _reached(self) -> int:
        """How many tasks run, of those whose inputs are made."""
        if self._is_too_large():
            return 0
        self._left -= 1
        try:
            values: dict[str, Any] = initial_values(self._graph, self._inputs())
        except EngineError:
            return 0
        reached = made_bytes = 0
        for session in self._sessions:
            made = _made_by(session, values) if made_bytes <= _MOST_BYTES else None
            if made is not None:
                values |= made
                made_bytes += sum(value.nbytes for value in made.values())
                reached += 1
        return reached

    def _is_too_large(self) -> bool:
        sizes = {**self._sizes, **self._known}
        shapes = (made_up_shape(tensor, sizes) for tensor in self._graph.summary.inputs)
        return bool(self._sizes) and sum(map(math.prod, shapes)) > _MOST_ELEMENTS


def _made_by(session: Any, values: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a task makes; None where it does not run."""
    if not values.keys() >= set(session.input_names):
        return None
    try:
        made = session.run({name: values[name] for name in session.input_names})
    except (RuntimeError, MemoryError):
        return None
    return dict(zip(session.output_names, made, strict=True))


def _sizes(graph: Graph) -> Sequence[int]:
    """What open dimensions are tried with: usual ones, and those of constants and fixed inputs."""
    constants = {int(n) for tensor in graph.initializers.values() for n in tensor.dims}
    fixed = {d for t in graph.summary.inputs for d in t.shape or () if isinstance(d, int)}
    return sorted({n for n in constants | fixed | set(_USUAL) if 0 < n <= _MOST_SIZE})[:40]


def _left_to_one(array: Array) -> Array:
    """Sizes for a Reshape: as many as needed along the first axis."""
    made = np.ones_like(array)
    made[:1] = -1
    return made


_FILLS: dict[str, Callable[[Array], Array]] = {
    "ones": np.ones_like,
    "zeros": np.zeros_like,
    "counting": lambda a: np.arange(a.size, dtype=a.dtype).reshape(a.shape),
    "twos": lambda a: np.full_like(a, 2),
    "left to one": lambda a: _left_to_one(a) if a.ndim == 1 else a,
    "counting from one": lambda a: np.arange(1, 1 + a.size, dtype=a.dtype).reshape(a.shape),
}
"""Contents of integers: indices, flags, axes, sizes."""
