"""Finds ``package.module:factory`` and makes the module."""

from __future__ import annotations

import importlib
import logging
import operator
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from surplus.engine.errors import ConfigError, ConversionError, one_line

_log = logging.getLogger(__name__)

_FORM = re.compile(r"(?P<module>[^\W\d]\w*(\.[^\W\d]\w*)*):(?P<factory>[^\W\d]\w*(\.[^\W\d]\w*)*)")
_USER_ERRORS = (Exception, SystemExit)
_HERE = Path(__file__).parent
_IMPORTER = Path(importlib.__file__).parent


@contextmanager
def import_path(folders: Sequence[Path]) -> Iterator[None]:
    """Let modules be imported from ``folders`` and the current folder, before all others.

    Raises
    ------
    ConfigError
        Naming what is no folder.
    """
    for folder in folders:
        if not folder.is_dir():
            raise ConfigError(f"--path {folder}: no such folder")
    before = list(sys.path)
    sys.path[:0] = [str(folder.absolute()) for folder in (*folders, Path.cwd())]
    try:
        yield
    finally:
        sys.path[:] = before


def split_target(text: str) -> tuple[str, str]:
    """The module's and the factory's name.

    Raises
    ------
    ConfigError
        If the text has another form.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise ConfigError(f"{text}: expected package.module:factory, for example nets.small:make")
    if match["module"].endswith(".py"):
        name = match["module"].removesuffix(".py")
        raise ConfigError(f"{text}: a module's name has no .py, try {name}:{match['factory']}")
    return match["module"], match["factory"]


def make_module(text: str, module_type: type) -> Any:
    """Import, find and call.

    Parameters
    ----------
    text : str
        ``package.module:factory``; the factory returns a module, or is one itself.
    module_type : type
        What it must be an instance of: ``torch.nn.Module``.

    Raises
    ------
    ConversionError
        Naming what cannot be imported, is missing, fails or is of another type.
    """
    module_name, factory_name = split_target(text)
    holder = _imported(module_name)
    try:
        found = operator.attrgetter(factory_name)(holder)
    except AttributeError:
        raise ConversionError(f"{text}: module {module_name} has no {factory_name!r}") from None
    made = found if isinstance(found, module_type) else _called(text, found)
    if not isinstance(made, module_type):
        raise ConversionError(
            f"{text}: made something of type {_type_name(made)}, not a torch.nn.Module"
        )
    return made


def typed_line(error: BaseException) -> str:
    """Type and message of an error that is not ours."""
    kind = type(error).__name__
    return f"{kind}: {one_line(error, 300)}" if str(error).split() else kind


def place(error: BaseException, libraries: Sequence[Path] = ()) -> str:
    """`` at FILE:LINE`` of the user's code where an error arose; empty if it is not there.

    Parameters
    ----------
    libraries : sequence of Path
        Folders of code that is not the user's, beside this package.
    """
    if isinstance(error, SyntaxError) and error.filename:
        return f" at {Path(error.filename).name}:{error.lineno}"
    foreign = tuple(f"{folder}/" for folder in (*libraries, _HERE, _IMPORTER))
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if not f.filename.startswith((*foreign, "<"))]
    return f" at {Path(own[-1].filename).name}:{own[-1].lineno}" if own else ""


def _imported(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise ConversionError(
                f"no module named {error.name!r} in the current folder, --path or what is installed"
            ) from error
        raise _import_failed(name, error) from error
    except _USER_ERRORS as error:
        raise _import_failed(name, error) from error


def _import_failed(name: str, error: BaseException) -> ConversionError:
    _log.info("importing %s failed", name, exc_info=error)
    return ConversionError(f"importing {name} fails{place(error)}: {typed_line(error)}")


def _called(text: str, factory: Any) -> Any:
    if not callable(factory):
        raise ConversionError(
            f"{text}: of type {_type_name(factory)}, neither a torch.nn.Module nor callable"
        )
    try:
        return factory()
    except _USER_ERRORS as error:
        _log.info("%s failed", text, exc_info=error)
        raise ConversionError(f"{text}: fails{place(error)}: {typed_line(error)}") from error


def _type_name(thing: Any) -> str:
    kind = type(thing)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
