"""Lets ``import onnxruntime`` find what stands in for it.

A program that imports nothing of it pays for nothing: what stands in is imported with it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

PACKAGE = "onnxruntime"
_NAMES = (
    PACKAGE,
    "onnxruntime.capi",
    "onnxruntime.capi._pybind_state",
    "onnxruntime.capi.onnxruntime_inference_collection",
    "onnxruntime.capi.onnxruntime_pybind11_state",
)
"""What stands in has these; of what else a program imports, ONNX Runtime's own folder is asked."""


class FaceFinder(MetaPathFinder, Loader):
    """Finds and makes modules of ``face.py``."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """What stands in for a module of that name; None for all others."""
        if fullname not in _NAMES:
            return None
        folder = _folder_of(fullname)
        spec = ModuleSpec(fullname, self, origin=_origin(folder), is_package=folder is not None)
        spec.submodule_search_locations = None if folder is None else [str(folder)]
        spec.has_location = folder is not None
        return spec

    def exec_module(self, module: ModuleType) -> None:
        """Fill it."""
        from surplus.engine.dropin.face import fill

        fill(module)
        if module.__name__ == PACKAGE:  # as ONNX Runtime's does: programs reach them by attributes
            for name in _NAMES[1:]:
                import_module(name)


def adopt() -> None:
    """Let later imports of ``onnxruntime`` find what stands in for it; again, nothing changes."""
    if not is_adopted():
        sys.meta_path.insert(0, FaceFinder())


def is_adopted() -> bool:
    """Whether they do."""
    return any(isinstance(finder, FaceFinder) for finder in sys.meta_path)


def _folder_of(name: str) -> Path | None:
    """Of a package, ONNX Runtime's own, which has the library and what does not stand in."""
    if name not in (PACKAGE, "onnxruntime.capi"):
        return None
    found = PathFinder.find_spec(PACKAGE)
    folders = (found.submodule_search_locations or ()) if found else ()
    own = Path(next(iter(folders), Path(__file__).parent / "nowhere"))
    return own if name == PACKAGE else own / "capi"


def _origin(folder: Path | None) -> str:
    return __file__ if folder is None else str(folder / "__init__.py")
