"""Sizes of the example inputs that a stored plan was made for, without making these up again.

Inputs are made up by trying what the model takes, which opens a session and runs it. Their sizes
are noted beside the graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surplus.engine.cache.notes import read_note, write_note
from surplus.engine.dfg.graph import Graph
from surplus.engine.examples.given import beside_model, check_inputs, read_inputs
from surplus.engine.examples.open_sizes import has_open_sizes, open_sizes

_FILE = "example-sizes.json"


@dataclass(frozen=True)
class Sized:
    """An array of which only the shape is known."""

    shape: tuple[int, ...]


def inputs_in_question(
    graph: Graph, path: str | Path, inputs: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """What of the example inputs a stored plan depends on, sizes at least.

    Returns
    -------
    dict or None
        Inputs that were given or lie in a file; of those that were made up once, sizes. Nothing
        where the model leaves no size open. None if they must be made up first.

    Raises
    ------
    InputError
        If given ones do not fit the model.
    """
    if inputs is not None:
        return check_inputs(graph, inputs)
    if not has_open_sizes(graph):
        return {}
    beside = beside_model(path)
    return _remembered(graph) if beside is None else read_inputs(graph, beside)


def remember_sizes(graph: Graph, inputs: Mapping[str, Any]) -> None:
    """Note the sizes of made-up inputs; a cache that cannot be written costs time."""
    if has_open_sizes(graph):
        with suppress(OSError):
            write_note(graph.folder / _FILE, open_sizes(graph, inputs))


def _remembered(graph: Graph) -> dict[str, Any] | None:
    try:
        found = read_note(graph.folder / _FILE)
        return {str(name): Sized(tuple(map(int, shape))) for name, shape in found.items()}
    except (ValueError, TypeError, AttributeError):
        return None
