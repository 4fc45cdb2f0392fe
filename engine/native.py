"""The native core with ONNX Runtime loaded: found in the installed wheel, opened once."""

from __future__ import annotations

import importlib.util
import logging
import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from surplus.engine import _core
from surplus.engine.errors import RuntimeLibraryError

_log = logging.getLogger(__name__)

LIBRARY_VARIABLE = "SURPLUS_ORT_LIBRARY"
"""Environment variable that names the library file to load instead of the wheel's."""

CUDA_VARIABLE = "SURPLUS_CUDA_LIBRARY"
"""Environment variable that names CUDA's runtime library instead of the installed one."""

LANE_THREADS_VARIABLE = "SURPLUS_CUDA_LANE_THREADS"
"""Environment variable that is 0 where lanes of CUDA have no threads: to compare."""

_PLUGIN_VARIABLE = "SURPLUS_PLUGIN_"
_PLUGIN_PACKAGE = "onnxruntime_ep_"
_PLUGIN_PATTERN = "*onnxruntime_providers_*.so"

_CUDA_FOLDERS = ("cu13/lib", "cuda_runtime/lib")
_CUDA_PATTERN = "libcudart.so.*"
_PATTERN = "libonnxruntime.so*"
_BUILDS = frozenset(
    "onnxruntime" + build
    for build in (
        *("", "_gpu", "_openvino", "_directml", "_rocm", "_migraphx", "_qnn", "_cann", "_azure"),
        *("_training", "_training_cpu"),
    )
)
"""Distributions that bring the module ``onnxruntime``, each with files of the same names."""

_WEIGHTS_FOLDER_KEY = "session.model_external_initializers_file_folder_path"
_INSTALL_HINT = (
    "install it with `pip install 'surplus-engine[cpu]'` ([gpu] for NVIDIA's),"
    f" or name a libonnxruntime.so in {LIBRARY_VARIABLE}"
)


def find_library() -> Path:
    """The ONNX Runtime library, without importing its Python module (a second copy of it).

    A wheel has it beside its module, conda in the ``lib`` folder of the environment.

    Raises
    ------
    RuntimeLibraryError
        If neither is there, or ``SURPLUS_ORT_LIBRARY`` names no file.
    """
    named = os.environ.get(LIBRARY_VARIABLE)
    if named:
        return _existing(Path(named), LIBRARY_VARIABLE)
    folders = [*_wheels_folders(), *_prefix_folders()]
    for folder in folders:
        found = newest(folder.glob(_PATTERN))
        if found is not None:
            return found.resolve()
    where = ", ".join(map(str, folders))
    raise RuntimeLibraryError(
        f"ONNX Runtime is not installed, no {_PATTERN} in {where}: {_INSTALL_HINT}"
    )


def builds_beside(library: Path) -> list[str]:
    """Distributions of ONNX Runtime in the environment that has this library in its wheel."""
    found = library.parent.parent.parent.glob("onnxruntime*.dist-info")
    names = {path.name.partition("-")[0].lower() for path in found}
    return sorted(name.replace("_", "-") for name in names & _BUILDS)


def find_cuda_library() -> str:
    """CUDA's runtime library: as named, else of NVIDIA's wheels, else left to the system.

    Returns
    -------
    str
        A path, or "" where the dynamic linker must find the library by its usual names.

    Raises
    ------
    RuntimeLibraryError
        If ``SURPLUS_CUDA_LIBRARY`` names no file.
    """
    named = os.environ.get(CUDA_VARIABLE)
    if named:
        return str(_existing(Path(named), CUDA_VARIABLE))
    spec = importlib.util.find_spec("nvidia")
    for folder in spec.submodule_search_locations or () if spec else ():
        for part in _CUDA_FOLDERS:
            found = newest((Path(folder) / part).glob(_CUDA_PATTERN))
            if found is not None:
                return str(found.resolve())
    return ""


def wants_lane_threads() -> bool:
    """Whether each of several lanes of a GPU may have a thread that submits for it."""
    return os.environ.get(LANE_THREADS_VARIABLE) != "0"


def plugin_variable(name: str) -> str:
    """Environment variable that names a plugin provider's library, as SURPLUS_PLUGIN_WEBGPU."""
    return f"{_PLUGIN_VARIABLE}{name.upper().replace('-', '_')}"


def find_plugin_library(name: str) -> Path:
    """A plugin provider's library: as named, else of the package ``onnxruntime-ep-NAME``.

    Raises
    ------
    RuntimeLibraryError
        If neither is there.
    """
    variable = plugin_variable(name)
    named = os.environ.get(variable)
    if named:
        return _existing(Path(named), variable)
    spec = importlib.util.find_spec(_PLUGIN_PACKAGE + name.replace("-", "_"))
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        found = sorted(Path(folder).rglob(_PLUGIN_PATTERN))
        if found:
            return found[0].resolve()
    raise RuntimeLibraryError(
        f"the plugin provider {name!r} is not installed: `pip install onnxruntime-ep-{name}`,"
        f" or name its library in {variable}"
    )


def installed_plugins() -> list[str]:
    """Names of the plugin providers that ``find_plugin_library`` may find."""
    import pkgutil  # for who asks what there is

    modules = [module.name for module in pkgutil.iter_modules()]
    found = [name for name in modules if name.startswith(_PLUGIN_PACKAGE)]
    named = [name for name in os.environ if name.startswith(_PLUGIN_VARIABLE)]
    bare = [name.removeprefix(_PLUGIN_PACKAGE) for name in found]
    bare += [name.removeprefix(_PLUGIN_VARIABLE).lower() for name in named]
    return sorted({name.replace("_", "-") for name in bare})


def is_runtime_loaded() -> bool:
    """Whether ``load_runtime`` has nothing to do."""
    try:
        return bool(_core.runtime_version())
    except RuntimeError:
        return False


def load_runtime() -> str:
    """Open ONNX Runtime once in this process, telemetry off; further calls do nothing.

    Returns
    -------
    str
        Its version, such as "1.31.1".

    Raises
    ------
    RuntimeLibraryError
        If it is missing, too old or cannot be loaded.
    """
    try:
        return _core.runtime_version()
    except RuntimeError:
        library = find_library()
    if len(builds := builds_beside(library)) > 1:
        _log.warning(
            "%s are installed together, and the files of one have overwritten the other's:"
            " uninstall them all, then install one",
            " and ".join(builds),
        )
    return _open(library)


def open_session(
    model: str | bytes,
    *,
    width: int = 1,
    level: str = "all",
    weights_folder: Path | None = None,
    config: dict[str, str] | None = None,
    optimized_path: str = "",
) -> _core.Session:
    """A session outside any plan.

    Parameters
    ----------
    model : str or bytes
        A path, or a serialised model whose external weights lie in ``weights_folder``.
    width : int
        Intra-op threads, >= 1.
    level : str
        Graph optimisation: ``disable_all``, ``basic``, ``extended`` or ``all``.

    Raises
    ------
    RuntimeError
        If ONNX Runtime refuses the model; the message is its own.
    """
    load_runtime()
    options = dict(config or {})
    if weights_folder is not None and isinstance(model, bytes):
        options[_WEIGHTS_FOLDER_KEY] = str(weights_folder)
    return _core.Session(
        model, width=width, level=level, config=options, optimized_path=optimized_path
    )


def _open(path: Path) -> str:
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    try:
        _core.open_runtime(str(path))
        return _core.runtime_version()
    except RuntimeError as error:
        raise RuntimeLibraryError(f"{error}; {_INSTALL_HINT}") from error


def _existing(path: Path, variable: str) -> Path:
    if not path.is_file():
        raise RuntimeLibraryError(f"{variable} names {path}, which is not a file")
    return path.resolve()


def _wheels_folders() -> Iterator[Path]:
    spec = importlib.util.find_spec("onnxruntime")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        yield Path(folder) / "capi"


def _prefix_folders() -> list[Path]:
    prefixes = (os.environ.get("CONDA_PREFIX"), sys.prefix)
    return [Path(prefix) / "lib" for prefix in dict.fromkeys(filter(None, prefixes))]


def newest(found: Iterable[Path]) -> Path | None:
    """The library of the highest version, by the numbers in its name; None of none."""
    return max(
        found, key=lambda path: [int(n) for n in re.findall(r"\d+", path.name)], default=None
    )
