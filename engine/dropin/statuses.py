"""ONNX Runtime's errors, by its names and numbers.

A program that has the ``onnxruntime`` module loaded catches that module's classes, so what is
raised then is of both.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import NoReturn

from surplus.engine.errors import EngineError, ExecutionError, InputError

_OF_A_SEGMENT = re.compile(r"^(model|segment) '[^']*': ")
"""What the core says before ONNX Runtime's words: a segment of the plan."""

STATE_MODULE = "onnxruntime.capi.onnxruntime_pybind11_state"
"""Where ONNX Runtime has its classes of errors."""


class OrtStatusError(EngineError):
    """An error with ONNX Runtime's number for it; its text is as ONNX Runtime's Python writes it.

    Attributes
    ----------
    number : int
        Its ``OrtErrorCode``.
    word : str
        What stands for that number in texts.
    """

    number = 0
    word = ""

    @property
    def bare(self) -> str:
        """Its text without ONNX Runtime's heading."""
        return str(self).removeprefix(_heading(type(self)))


class Fail(OrtStatusError):
    """What has no other number."""

    number, word = 1, "FAIL"


class InvalidArgument(OrtStatusError):
    """An input, an option or a model is wrong."""

    number, word = 2, "INVALID_ARGUMENT"


class NoSuchFile(OrtStatusError):
    """There is no file of that path."""

    number, word = 3, "NO_SUCHFILE"


class NoModel(OrtStatusError):
    """No model was loaded."""

    number, word = 4, "NO_MODEL"


class EngineFailure(OrtStatusError):
    """Of an engine of a provider; ONNX Runtime calls it ``EngineError``, which is ours."""

    number, word = 5, "ENGINE_ERROR"


class RuntimeException(OrtStatusError):
    """An operator threw something while it ran."""

    number, word = 6, "RUNTIME_EXCEPTION"


class InvalidProtobuf(OrtStatusError):
    """The file or the bytes are no protobuf."""

    number, word = 7, "INVALID_PROTOBUF"


class ModelLoaded(OrtStatusError):
    """A model was loaded already."""

    number, word = 8, "MODEL_LOADED"


class NotImplemented(OrtStatusError):
    """Nobody computes that; or we do not do it, and ONNX Runtime does."""

    number, word = 9, "NOT_IMPLEMENTED"


class MissingName(NotImplemented, AttributeError):
    """An attribute of ONNX Runtime's that is not there, so that ``hasattr`` says no."""


class InvalidGraph(OrtStatusError):
    """The model's graph is wrong."""

    number, word = 10, "INVALID_GRAPH"


class EPFail(OrtStatusError):
    """An execution provider failed."""

    number, word = 11, "EP_FAIL"


class ModelLoadCanceled(OrtStatusError):
    """Loading was ended."""

    number, word = 12, "MODEL_LOAD_CANCELED"


class ModelRequiresCompilation(OrtStatusError):
    """A provider wants the model compiled first."""

    number, word = 13, "MODEL_REQUIRES_COMPILATION"


class NotFound(OrtStatusError):
    """Something that was named is not there."""

    number, word = 14, "NOT_FOUND"


STATUSES: dict[str, type[OrtStatusError]] = {
    "EngineError" if kind is EngineFailure else kind.__name__: kind
    for kind in OrtStatusError.__subclasses__()
}
"""By ONNX Runtime's names."""

_BOTH: dict[type[OrtStatusError], type[OrtStatusError]] = {}
"""Subclasses of ours that are the loaded module's, too."""

_BY_NUMBER = {kind.number: kind for kind in STATUSES.values()}


def status(kind: type[OrtStatusError], text: str) -> OrtStatusError:
    """An error with ONNX Runtime's heading, which its module's class catches if it is loaded."""
    return without_heading(kind, _heading(kind) + text)


def without_heading(kind: type[OrtStatusError], text: str) -> OrtStatusError:
    """The same with the text alone."""
    return _catchable(kind)(text)


def status_of(number: int, text: str) -> OrtStatusError:
    """The error of a number of ONNX Runtime's; a ``Fail`` where it is none."""
    return status(_BY_NUMBER.get(number, Fail), text)


def number_in(error: BaseException) -> int:
    """ONNX Runtime's number of what an error goes back to; 0 where none is known."""
    return next((found for each in _causes(error) if (found := _number(each))), 0)


def raise_run_error(error: EngineError) -> NoReturn:
    """Raise what a query failed with as ONNX Runtime would.

    Raises
    ------
    ValueError, OrtStatusError
        What is ours alone, a deadline that passed say, is raised as it is.
    """
    if isinstance(error, InputError):
        raise status(InvalidArgument, str(error)) from error
    if isinstance(error, ExecutionError):
        said = _OF_A_SEGMENT.sub("", str(error)) if error.status else str(error)
        raise status_of(number_in(error), said) from error
    raise error


def _heading(kind: type[OrtStatusError]) -> str:
    return f"[ONNXRuntimeError] : {kind.number} : {kind.word} : "


def _number(error: BaseException) -> int:
    """Of the core's ``StatusError``, and of what a query failed with."""
    return int(getattr(error, "status" if isinstance(error, ExecutionError) else "code", None) or 0)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _catchable(kind: type[OrtStatusError]) -> type[OrtStatusError]:
    name = next(name for name, each in STATUSES.items() if issubclass(kind, each))
    theirs = getattr(sys.modules.get(STATE_MODULE), name, kind)
    if issubclass(kind, theirs):
        return kind
    if kind not in _BOTH:
        _BOTH[kind] = type(kind.__name__, (kind, theirs), {"__doc__": kind.__doc__})
    return _BOTH[kind]
