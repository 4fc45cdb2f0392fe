"""Libraries of operators that ONNX Runtime does not bring along, by name or file.

They are the process's: a session that is made once a library was added knows its operators,
whatever model it is of. What is kept of models on disk is kept apart by the libraries' content, as
constants may have been computed by them.
"""

from __future__ import annotations

import functools
import importlib.util
import threading
from collections.abc import Sequence
from pathlib import Path

from surplus.engine import _core
from surplus.engine.errors import ConfigError, one_line
from surplus.engine.native import load_runtime

EXTENSIONS = "onnxruntime-extensions"
"""By its name instead of a file: decoding of images, tokenizers and more."""

_PACKAGE, _PATTERN = "onnxruntime_extensions", "_extensions_pydll*.so"
EXTENSION_NAMES = (EXTENSIONS, _PACKAGE)
"""As it may be written."""

_LOCK = threading.Lock()


def library_of(name: str) -> Path:
    """The file that is meant.

    Raises
    ------
    ConfigError
        If there is none.
    """
    if name in EXTENSION_NAMES:
        return _extensions()
    path = Path(name)
    if not path.is_file():
        raise ConfigError(
            f"custom operators: {name} is no file; give a library, or {EXTENSIONS} by its name"
        )
    return path.resolve()


def add_custom_operators(names: Sequence[str]) -> None:
    """Have models that are loaded from now on use the operators of libraries.

    Raises
    ------
    ConfigError
        If one is not there, or is no such library; the message is ONNX Runtime's.
    """
    if not names:
        return
    load_runtime()
    for name in names:
        path = library_of(name)
        try:
            _core.add_custom_operators(str(path))
        except RuntimeError as error:
            raise ConfigError(f"custom operators: {path}: {one_line(error, 300)}") from error


def custom_operators_mark() -> str:
    """Tells what was kept with these libraries from what was kept with others; empty for none."""
    paths = _core.custom_operators()
    if not paths:
        return ""
    import hashlib  # few models need any, and it loads a library

    marks = [_content(path, Path(path).stat().st_mtime_ns) for path in sorted(paths)]
    return hashlib.sha256("".join(marks).encode()).hexdigest()[:16]


@functools.cache
def _content(path: str, changed_ns: int) -> str:
    """SHA-256 of a library's file, in hex; as it was at that time."""
    import hashlib

    with _LOCK, Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _extensions() -> Path:
    spec = importlib.util.find_spec(_PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for found in sorted(Path(folder).glob(_PATTERN)):
            return found.resolve()
    raise ConfigError(
        f"custom operators: {EXTENSIONS} is not installed: pip install 'surplus-engine[extensions]'"
    )
