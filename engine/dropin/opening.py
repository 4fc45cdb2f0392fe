"""From a session's file and options to what answers its queries."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surplus.engine.dropin.asked_session import AskedSession
from surplus.engine.dropin.given_file import is_ort_format
from surplus.engine.dropin.load_failure import raise_load_error
from surplus.engine.errors import ConfigError, EngineError, ExecutionError, InputError, one_line
from surplus.engine.native import open_session
from surplus.engine.pipeline.load import load_planned
from surplus.engine.runtime.model import Model

if TYPE_CHECKING:
    from surplus.engine.dropin.told_model import ToldModel

_log = logging.getLogger(__name__)

_OF_PLANS = ("placement", "profile", "policy_options", "progress", "inputs")
"""Options of ``load`` that say which plan is chosen."""


def opened(path: Path, asked: AskedSession, options: Mapping[str, Any]) -> Model | ToldModel:
    """A model that answers.

    Parameters
    ----------
    options : mapping
        ``surplus.load``'s, devices among them.

    Raises
    ------
    OrtStatusError
        Why the model does not load.
    EngineError
        What is not about the model.
    """
    _log.debug("%s is opened", path)
    try:
        if asked.is_told or is_ort_format(path):
            return _told(path, asked, options)
        return _planned(path, asked, options)
    except (EngineError, RuntimeError) as error:
        raise_load_error(error, path, asked)


def save_optimised(path: Path, asked: AskedSession) -> None:
    """Save the model as ONNX Runtime optimises it, as a program that asks for that expects.

    Raises
    ------
    OrtStatusError
        Why ONNX Runtime does not load or save it.
    """
    config = {**asked.config, **asked.saving}
    try:
        open_session(
            str(path), level=asked.level, config=config, optimized_path=asked.optimized_path
        )
    except RuntimeError as error:
        raise_load_error(error, path, asked)


def _planned(path: Path, asked: AskedSession, options: Mapping[str, Any]) -> Model | ToldModel:
    """By a plan; as one session where there is nothing to measure plans with."""
    try:
        return Model(load_planned(path, **options))
    except (InputError, ExecutionError) as error:
        if options.get("placement_policy", "auto") != "auto" or any(
            name in options for name in _OF_PLANS
        ):
            raise
        _log.info("%s runs as one session: %s", path, one_line(error))
        return _told(path, asked, options)


def _told(path: Path, asked: AskedSession, options: Mapping[str, Any]) -> ToldModel:
    from surplus.engine.dropin.told_model import ToldModel  # few programs tell
    from surplus.engine.pipeline.loading import params_of

    own = dict(options)
    policy = own.pop("placement_policy", "auto")
    left = [name for name in _OF_PLANS if name in own]
    left += ["placement_policy"] if policy != "auto" else []
    if left:
        raise ConfigError(
            f"{left[0]} is of no use: ONNX Runtime is told how to compute, so the model runs as one"
            " session"
        )
    params = params_of(own.pop("devices", ""), own)
    return ToldModel(path, params, asked.level, asked.config, asked.custom_operators)
