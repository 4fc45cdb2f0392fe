"""The inputs that a model is measured with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import ConfigError
from surplus.engine.examples.given import beside_model, read_inputs
from surplus.engine.examples.open_dims import made_up_inputs, open_dims
from surplus.engine.examples.sizes import remember_sizes


def example_inputs(
    graph: Graph,
    model_path: str | Path,
    inputs_path: Path | None = None,
    dims: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Inputs to calibrate with: a given .npz, the one beside the model, or made-up ones.

    Parameters
    ----------
    dims : mapping of str to int, optional
        Sizes of open dimensions in made-up inputs (engine/examples/open_dims.py), which they
        ask for: the file beside the model is not used then.

    Raises
    ------
    InputError
        If the file cannot be read, or its arrays do not fit the model.
    ConfigError
        If ``dims`` names what is no dimension of an input, or comes with a file.
    """
    if dims and inputs_path is not None:
        raise ConfigError(f"--dim sizes made-up inputs, not those of {inputs_path}")
    beside = beside_model(model_path)
    chosen = inputs_path or (beside if beside is not None and not dims else None)
    if chosen is not None:
        return read_inputs(graph, chosen)
    _check_dims(graph, dims or {})
    made = made_up_inputs(graph, dims or {})
    if not dims:
        remember_sizes(graph, made)
    return made


def _check_dims(graph: Graph, dims: Mapping[str, int]) -> None:
    known = open_dims(graph)
    for name in dims:
        if name not in known:
            raise ConfigError(
                f"no input has a dimension {name!r}; there are: {', '.join(known) or 'none'}"
            )
