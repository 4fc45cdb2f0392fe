"""The inputs that a model is measured with."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from engine.dfg.graph import Graph
from engine.errors import ConfigError, InputError
from engine.pipeline.open_dims import made_up_inputs, open_dims
from engine.runtime.inputs import check_names, checked_input, input_specs


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
        Sizes of open dimensions in made-up inputs (engine/pipeline/open_dims.py), which they
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
    beside = Path(model_path).with_suffix(".npz")
    chosen = inputs_path or (beside if beside.exists() and not dims else None)
    if chosen is None:
        _check_dims(graph, dims or {})
        return made_up_inputs(graph, dims or {})
    try:
        return check_inputs(graph, _arrays(chosen))
    except InputError as error:
        raise InputError(f"example inputs {chosen}: {error}") from error


def check_inputs(graph: Graph, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Check that inputs are complete and fit the graph.

    Raises
    ------
    InputError
        Naming the input that is unknown, missing, or of a wrong type or shape.
    """
    specs = {spec.name: spec for spec in input_specs(graph)}
    check_names(specs, inputs)
    for name, spec in specs.items():
        if name not in inputs and not spec.optional:
            raise InputError(f"input {name!r} is missing")
    return {name: checked_input(specs[name], content) for name, content in inputs.items()}


def _arrays(path: Path) -> dict[str, Any]:
    try:
        with zipfile.ZipFile(path):
            pass
        with np.load(path) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except OSError as error:
        raise InputError(error.strerror or str(error)) from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise InputError("not an .npz file, or a damaged one") from error
    except ValueError as error:
        raise InputError(str(error)) from error


def _check_dims(graph: Graph, dims: Mapping[str, int]) -> None:
    known = open_dims(graph)
    for name in dims:
        if name not in known:
            raise ConfigError(
                f"no input has a dimension {name!r}; there are: {', '.join(known) or 'none'}"
            )
