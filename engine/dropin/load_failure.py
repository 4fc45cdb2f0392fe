"""Why a model does not load, as ONNX Runtime says it."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

from surplus.engine.dropin.asked_session import AskedSession
from surplus.engine.dropin.given_file import is_written
from surplus.engine.dropin.statuses import Fail, OrtStatusError, number_in, status, status_of
from surplus.engine.errors import EngineError, ModelError
from surplus.engine.native import open_session

_ENDS_PROCESSES = ": refused: "
"""What the engine says of a model whose first run, in a child, ended the child."""


def raise_load_error(
    error: EngineError | RuntimeError, path: Path, asked: AskedSession
) -> NoReturn:
    """Raise it as ONNX Runtime would, which is asked again where the engine's words are its own.

    Raises
    ------
    OrtStatusError
        ONNX Runtime's error; a ``Fail`` with the engine's words where that takes the model.
    EngineError
        What is not about the model.
    """
    if isinstance(error, EngineError) and not isinstance(error, ModelError):
        raise error
    if not isinstance(error, EngineError):
        raise _theirs(error, path) from error
    if _ENDS_PROCESSES in str(error):
        raise status(Fail, str(error)) from error
    try:
        open_session(str(path), level=asked.level, config=dict(asked.config))
    except RuntimeError as said:
        raise _theirs(said, path) from error
    raise status(Fail, str(error)) from error


def _theirs(error: RuntimeError, path: Path) -> OrtStatusError:
    """Without the path of a file that is not the program's."""
    text = str(error)
    if is_written(path):
        text = text.removeprefix(f"Load model from {path} failed:")
    return status_of(number_in(error), text)
