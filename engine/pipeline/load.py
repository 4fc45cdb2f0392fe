"""``surplus.load``: from an ONNX file to a model that answers.

What it needs is imported beside what takes as long: to load ONNX Runtime's library.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from surplus.engine.cache_folder import cache_folder
from surplus.engine.native import is_runtime_loaded, load_runtime
from surplus.engine.pipeline.beside import beside
from surplus.engine.planning.load_options import named_now
from surplus.engine.planning.progress import ProgressCallback, no_progress

if TYPE_CHECKING:
    import onnx

    from surplus.engine.planning.load_options import LoadOptions
    from surplus.engine.planning.load_params import LoadParams
    from surplus.engine.runtime.model import Model
    from surplus.engine.runtime.planned_model import PlannedModel


def load(
    path: str | os.PathLike[str] | bytes | onnx.ModelProto,
    devices: str = "",
    placement_policy: str = "auto",
    *,
    placement: str | Path | None = None,
    profile: str | Path | None = None,
    inputs: Mapping[str, Any] | None = None,
    progress: ProgressCallback = no_progress,
    **options: Unpack[LoadOptions],
) -> Model:
    """A model that answers: by its stored plan, or else as one session while a plan is found.

    That is measured beside the queries, stored, and takes over if its bits are the same, else at
    the next start; ``tune="now"`` waits for it, as some options do anyway (``LoadParams``).

    Parameters
    ----------
    path : path, bytes or ModelProto
        An ONNX file, or what is in one. ``NAME.npz`` beside it holds example inputs to measure
        with, if it exists.
    devices : str
        For example ``cpu:2`` or ``cpu:1,emulated:gpu[h200]``; every core by default.
    placement_policy : str
        Which operator goes where; ``policy_options={...}`` are its own.
    placement, profile : str or Path, optional
        Files of ``engine place`` and ``engine profile``: what goes where instead of by a policy,
        and the times, and devices where none are named, that it was made for.
    inputs : mapping, optional
        Example inputs by name.
    progress : callable
        Called with the stage, how much of it is done, and of how much.
    options
        The fields of ``surplus.LoadParams``, which says what each means: ``tune_s=20`` looks for a
        better plan for 20 seconds, once.

    Raises
    ------
    surplus.EngineError
        Naming what is wrong: ``ModelError``, ``DeviceError``, ``ConfigError`` (a ``ValueError``)
        and others of ``surplus.errors``.
    TypeError
        If ``path`` is neither a path nor a model.
    """
    planned = load_planned(
        path,
        devices,
        placement=placement,
        profile=profile,
        inputs=inputs,
        progress=progress,
        **named_now(options, placement_policy),
    )
    from surplus.engine.runtime.model import Model  # not before ONNX Runtime is loading

    return Model(planned)


def load_planned(
    path: str | os.PathLike[str] | bytes | onnx.ModelProto,
    devices: str = "",
    placement_policy: str = "auto",
    *,
    placement: str | Path | None = None,
    profile: str | Path | None = None,
    inputs: Mapping[str, Any] | None = None,
    progress: ProgressCallback = no_progress,
    **options: Any,
) -> PlannedModel:
    """``load`` for who needs what the model is made of, by the names that options have now."""
    if not options.get("custom_operators") and not is_runtime_loaded():
        beside(load_runtime)  # whoever needs it waits for it, and says why it cannot be loaded
    from surplus.engine.pipeline.loading import load_with, params_of

    params = params_of(devices, {"placement_policy": placement_policy, **options})
    path = _path_of(path, params.cache or cache_folder())
    if placement is None and profile is None:
        return load_with(path, params, inputs, progress)
    return _placed(path, placement, profile, params, inputs, progress)


def _placed(
    path: str | Path,
    placement: str | Path | None,
    profile: str | Path | None,
    params: LoadParams,
    inputs: Mapping[str, Any] | None,
    progress: ProgressCallback,
) -> PlannedModel:
    from surplus.engine.errors import ConfigError
    from surplus.engine.pipeline.making import load_placed

    if placement is None:
        raise ConfigError("a profile goes with a placement; a policy measures for itself")
    costs = None if profile is None else Path(profile)
    return load_placed(path, Path(placement), costs, params, inputs, progress)


def _path_of(model: Any, cache: Path) -> Path:
    """The path of the file, which is written for a model that is none yet.

    Raises
    ------
    TypeError
        If it is neither a path nor a model.
    """
    if isinstance(model, str | os.PathLike):
        return Path(os.fsdecode(model))
    if isinstance(model, bytes | bytearray | memoryview):
        content = bytes(model)
    elif hasattr(model, "SerializeToString"):
        content = model.SerializeToString()
    else:
        kind = type(model).__name__
        raise TypeError(f"load takes the path of an ONNX file, bytes or a ModelProto, not {kind}")
    from surplus.engine.store.kept_file import kept_file

    return kept_file(content, cache)
