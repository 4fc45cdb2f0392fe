"""Example inputs that somebody gave: by hand, or in a file beside the model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import InputError
from surplus.engine.runtime.inputs import check_names, checked_input, input_specs


def beside_model(path: str | Path) -> Path | None:
    """The file of example inputs beside a model, if there is one."""
    found = Path(path).with_suffix(".npz")
    return found if found.exists() else None


def read_inputs(graph: Graph, path: Path) -> dict[str, Any]:
    """The arrays of an ``.npz`` file.

    Raises
    ------
    InputError
        If the file cannot be read, or its arrays do not fit the model.
    """
    try:
        return check_inputs(graph, _arrays(path))
    except InputError as error:
        raise InputError(f"example inputs {path}: {error}") from error


def arrays_in(path: Path) -> dict[str, Any]:
    """As ``read_inputs``, for who has no graph to check them against."""
    try:
        return _arrays(path)
    except InputError as error:
        raise InputError(f"example inputs {path}: {error}") from error


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
    import zipfile  # of which loading without such a file knows nothing
    import zlib

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
