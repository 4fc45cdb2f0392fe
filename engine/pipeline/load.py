"""``surplus.load``: from an ONNX file to a model that answers.

What it needs is imported beside what takes as long: to load ONNX Runtime's library.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surplus.engine.native import is_runtime_loaded, load_runtime
from surplus.engine.pipeline.beside import beside
from surplus.engine.planning.progress import ProgressCallback, no_progress

if TYPE_CHECKING:
    from surplus.engine.planning.load_params import LoadParams
    from surplus.engine.runtime.model import Model


def load(
    path: str | Path,
    devices: str = "",
    policy: str = "auto",
    *,
    placement: str | Path | None = None,
    profile: str | Path | None = None,
    inputs: Mapping[str, Any] | None = None,
    progress: ProgressCallback = no_progress,
    **options: Any,
) -> Model:
    """A model that answers: by its stored plan, or else as one session while a plan is found.

    That is measured beside the queries, stored, and takes over if its bits are the same, else at
    the next start; ``tune="now"`` waits for it, as some options do anyway (``LoadParams``).

    Parameters
    ----------
    path : str or Path
        An ONNX file. ``NAME.npz`` beside it holds example inputs to measure with, if it exists.
    devices : str
        For example ``cpu:2`` or ``cpu:1,emulated:gpu[h200]``; every core by default.
    policy : str
        Placement policy; its options follow by keyword, as do the fields of ``LoadParams``:
        ``tune_s=20`` looks for a better plan for 20 seconds, once.
    placement, profile : str or Path, optional
        Files of ``engine place`` and ``engine profile``: what goes where instead of by a policy,
        and the times, and devices where none are named, that it was made for.
    inputs : mapping, optional
        Example inputs by name.

    Raises
    ------
    EngineError
        One of engine/errors.py, naming what is wrong.
    TypeError
        If ``path`` is no path.
    """
    _require_path(path)
    if placement is not None or profile is not None:
        from surplus.engine.pipeline.loading import params_of

        params = params_of(devices, policy, options)
        return _placed(path, placement, profile, params, inputs, progress)
    if options.get("custom_operators"):
        from surplus.engine.custom_operators import add_custom_operators, named_libraries

        add_custom_operators(named_libraries(options["custom_operators"]))
    if not is_runtime_loaded():
        beside(load_runtime)  # whoever needs it waits for it, and says why it cannot be loaded
    from surplus.engine.pipeline.loading import load_with, params_of

    return load_with(path, params_of(devices, policy, options), inputs, progress)


def _placed(
    path: str | Path,
    placement: str | Path | None,
    profile: str | Path | None,
    params: LoadParams,
    inputs: Mapping[str, Any] | None,
    progress: ProgressCallback,
) -> Model:
    from surplus.engine.errors import ConfigError
    from surplus.engine.pipeline.making import load_placed

    if placement is None:
        raise ConfigError("a profile goes with a placement; a policy measures for itself")
    costs = None if profile is None else Path(profile)
    return load_placed(path, Path(placement), costs, params, inputs, progress)


def _require_path(path: object) -> None:
    if isinstance(path, str | os.PathLike):
        return
    kind = type(path).__name__
    hint = "; onnx.save(model, 'model.onnx') writes one" if kind == "ModelProto" else ""
    raise TypeError(f"load takes the path of an ONNX file, not {kind}{hint}")
