"""``SessionOptions``: what a program says of a session before there is one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from surplus.engine.dropin.levels import ExecutionMode, ExecutionOrder, GraphOptimizationLevel
from surplus.engine.dropin.statuses import Fail, NotImplemented, status

_DEFAULTS: dict[str, Any] = {
    "enable_cpu_mem_arena": True,
    "enable_mem_pattern": True,
    "enable_mem_reuse": True,
    "enable_profiling": False,
    "execution_mode": ExecutionMode.ORT_SEQUENTIAL,
    "execution_order": ExecutionOrder.DEFAULT,
    "graph_optimization_level": GraphOptimizationLevel.ORT_ENABLE_ALL,
    "inter_op_num_threads": 0,
    "intra_op_num_threads": 0,
    "log_severity_level": -1,
    "log_verbosity_level": 0,
    "logid": "",
    "optimized_model_filepath": "",
    "profile_file_prefix": "onnxruntime_profile_",
    "use_deterministic_compute": False,
    "use_per_session_threads": True,
}
"""ONNX Runtime's; the type of a value is what its attribute takes."""


class SessionOptions:
    """ONNX Runtime's attributes and methods; ``asked_session.py`` says what becomes of them.

    Attributes are those of ``_DEFAULTS``, of the same types.
    """

    __slots__ = (
        "_config",
        "_custom_operators",
        "_free_by_denotation",
        "_free_by_name",
        "_initializers",
        *_DEFAULTS,
    )

    def __init__(self) -> None:
        self._config: dict[str, str] = {}
        self._custom_operators: list[str] = []
        self._free_by_name: dict[str, int] = {}
        self._free_by_denotation: dict[str, int] = {}
        self._initializers: dict[str, Any] = {}
        for name, value in _DEFAULTS.items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        wanted = type(_DEFAULTS[name]) if name in _DEFAULTS else object
        if wanted is str and isinstance(value, os.PathLike):
            value = os.fspath(value)
        if not isinstance(value, wanted):
            raise TypeError(
                f"SessionOptions.{name} takes {wanted.__name__}, got {type(value).__name__}"
            )
        object.__setattr__(self, name, value)

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Say something that has no attribute; later values replace earlier ones."""
        self._config[key] = value

    def get_session_config_entry(self, key: str) -> str:
        """What was said.

        Raises
        ------
        RuntimeError
            If nothing was.
        """
        if key not in self._config:
            raise RuntimeError(f"SessionOptions does not have configuration with key: {key}")
        return self._config[key]

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Let a dimension of inputs that the model names be of that size."""
        self._free_by_name[name] = int(size)

    def add_free_dimension_override_by_denotation(self, denotation: str, size: int) -> None:
        """The same of those that the model denotes so, ``DATA_BATCH`` say."""
        self._free_by_denotation[denotation] = int(size)

    def add_initializer(self, name: str, value: Any) -> None:
        """Use an ``OrtValue`` instead of the model's initializer of that name."""
        self._initializers[name] = value

    def add_external_initializers(self, names: Sequence[str], values: Sequence[Any]) -> None:
        """Give initializers whose data the model has not got."""
        if len(names) != len(values):
            raise ValueError(f"{len(names)} names of initializers and {len(values)} values")
        self._initializers.update(zip(names, values, strict=True))

    def register_custom_ops_library(self, path: str | os.PathLike[str]) -> None:
        """Let models use the operators of a shared library.

        Raises
        ------
        Fail
            If there is no file of that path.
        """
        library = os.fspath(path)
        if not Path(library).is_file():
            raise status(
                Fail,
                f"Failed to load library {library} with error: {library}: cannot open shared"
                " object file: No such file or directory",
            )
        self._custom_operators.append(str(Path(library).absolute()))

    def has_providers(self) -> bool:
        """Whether providers were added: never, sessions are told."""
        return False

    def __getattr__(self, name: str) -> Any:
        if name in _REFUSED:
            raise status(NotImplemented, f"SessionOptions.{name} is not there: {_REFUSED[name]}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


_FOR_PROVIDERS = "providers are named where a session is made"
_REFUSED = {
    "add_provider": _FOR_PROVIDERS,
    "add_provider_for_devices": _FOR_PROVIDERS,
    "set_provider_selection_policy": _FOR_PROVIDERS,
    "set_provider_selection_policy_delegate": _FOR_PROVIDERS,
    "set_load_cancellation_flag": "a load has a limit instead (max_load_s)",
    "set_ep_context_data_read_func": "no provider that compiles contexts is used",
    "clear_ep_context_data_read_func": "no provider that compiles contexts is used",
    "add_external_initializers_from_files_in_memory": "add_external_initializers takes values",
}
