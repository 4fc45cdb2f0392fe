"""ONNX Runtime's own modules, loaded beside those that stand in for them.

What does not stand in for anything is theirs: quantisers, schemas of operators, descriptions of
memory, ``preload_dlls``. Each is loaded when a program first asks for such a name: the extension
module is a second copy of ONNX Runtime (16 MB, 60 ms).
"""

from __future__ import annotations

import importlib
import sys
import threading
from importlib.machinery import ExtensionFileLoader, PathFinder, SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from surplus.engine.dropin.finder import PACKAGE, is_adopted
from surplus.engine.dropin.statuses import STATE_MODULE
from surplus.engine.errors import RuntimeLibraryError

_CAPI = f"{PACKAGE}.capi"
_loaded_by_name: dict[str, ModuleType | None] = {}
_lock = threading.RLock()

_STATES = (STATE_MODULE, f"{_CAPI}._pybind_state")


def extension() -> Any:
    """The extension module with ONNX Runtime's own classes.

    Raises
    ------
    RuntimeLibraryError
        If it is not installed.
    """
    if not is_adopted():
        return importlib.import_module(STATE_MODULE)
    found = own_module(STATE_MODULE)
    if found is None:
        raise RuntimeLibraryError("ONNX Runtime's Python package is not installed")
    return found


def own_module(name: str) -> ModuleType | None:
    """The module of that name that another stands in for; None where there is none.

    It has that name, but imports find the one that stands in. Also None where it asks for itself
    while it is loaded.
    """
    with _lock:
        if name not in _loaded_by_name:
            _loaded_by_name[name] = None
            _loaded_by_name[name] = _loaded_from(name, _path_of(name))
        return _loaded_by_name[name]


def _loaded_from(name: str, path: Path | None) -> ModuleType | None:
    if path is None:
        return None
    if name in _STATES:
        return own_module(STATE_MODULE) if name != STATE_MODULE else _extension_at(path)
    loader = SourceFileLoader(name, str(path))
    return _loaded(name, path, loader)


def _extension_at(path: Path) -> ModuleType:
    return _loaded(STATE_MODULE, path, ExtensionFileLoader(STATE_MODULE, str(path)))


def _loaded(name: str, path: Path, loader: Any) -> ModuleType:
    spec = spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = module_from_spec(spec)
    stands_in = sys.modules.get(name)
    loader.exec_module(module)
    if stands_in is not None:
        sys.modules[name] = stands_in  # also where the extension entered itself
    return module


def _path_of(name: str) -> Path | None:
    package = PathFinder.find_spec(PACKAGE)
    if package is None or package.origin is None:
        return None
    if name == PACKAGE:
        return Path(package.origin)
    folder = Path(package.origin).parent / "capi"
    last = STATE_MODULE if name in _STATES else name
    found = PathFinder.find_spec(last, [str(folder)])
    return None if found is None or found.origin is None else Path(found.origin)
