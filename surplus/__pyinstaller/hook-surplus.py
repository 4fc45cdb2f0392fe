"""The parts of a frozen program that no import statement names.

Our modules are imported by their names in tables, and ONNX Runtime's library is opened by its path
beside the module, which nothing imports.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from PyInstaller.utils.hooks import (
    collect_data_files,
    collect_dynamic_libs,
    collect_submodules,
)

binaries = collect_dynamic_libs("surplus", search_patterns=["*.so"])
_NATIVE = {Path(source).name.partition(".")[0] for source, _ in binaries}


def _is_wanted(name: str) -> bool:
    """Not what only a plain interpreter runs, nor what is among the libraries already."""
    is_elsewhere = name.startswith(("surplus.__pyinstaller", "surplus.engine.dropin.startup"))
    return not is_elsewhere and name.rpartition(".")[2] not in _NATIVE


hiddenimports = collect_submodules("surplus", filter=_is_wanted, on_error="ignore")
datas = collect_data_files("surplus", excludes=["**/*.pyi", "**/*.proto"])

if find_spec("onnxruntime") is not None:
    hiddenimports.append("onnxruntime")
    binaries += collect_dynamic_libs("onnxruntime", search_patterns=["*.so*"])
