"""``SessionOptions``: what a program says of a session before there is one."""

from __future__ import annotations

import copy
import logging
import os
from collections.abc import Mapping, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any

from surplus.engine.dropin.levels import ExecutionMode, ExecutionOrder, GraphOptimizationLevel
from surplus.engine.dropin.providers import check_known, get_available_providers
from surplus.engine.dropin.statuses import Fail, InvalidArgument, status

_log = logging.getLogger(__name__)

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
"""ONNX Runtime's; the type of a value says what its attribute takes (``_taken``)."""

_LONGEST_INT = 2**31


class SessionOptions:
    """ONNX Runtime's attributes and methods; ``asked_session.py`` says what becomes of them.

    Attributes are those of ``_DEFAULTS``, and take what ONNX Runtime's take: enumerations of either
    module, whole numbers of numpy, whatever is true or false.
    """

    __slots__ = (
        "_config",
        "_custom_operators",
        "_files",
        "_free_by_denotation",
        "_free_by_name",
        "_initializers",
        "_is_cancelled",
        "_providers",
        *_DEFAULTS,
    )

    def __init__(self) -> None:
        self._config: dict[str, str] = {}
        self._custom_operators: list[str] = []
        self._free_by_name: dict[str, int] = {}
        self._free_by_denotation: dict[str, int] = {}
        self._files: dict[str, bytes] = {}
        self._initializers: dict[str, Any] = {}
        self._is_cancelled = False
        self._providers: list[str] = []
        for name, value in _DEFAULTS.items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, _taken(name, value) if name in _DEFAULTS else value)

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

    def add_external_initializers_from_files_in_memory(
        self, names: Sequence[str], contents: Sequence[bytes], lengths: Sequence[int]
    ) -> None:
        """Give files of external data, by the names that the model has for them."""
        if not len(names) == len(contents) == len(lengths):
            raise ValueError(f"{len(names)} names, {len(contents)} files, {len(lengths)} lengths")
        for name, content, length in zip(names, contents, lengths, strict=True):
            self._files[name] = bytes(content)[:length]

    def add_provider(self, provider_name: str, provider_options: Mapping[str, str]) -> None:
        """Use a provider.

        Raises
        ------
        RuntimeError
            If it is of no name that ONNX Runtime knows.
        InvalidArgument
            If it is not there.
        """
        check_known([provider_name])
        if provider_name not in get_available_providers():
            raise status(
                InvalidArgument,
                f"Failed to add provider of type '{provider_name}' to SessionOptions. Provider"
                " configuration is not supported.",
            )
        self._providers.append(provider_name)

    def add_provider_for_devices(
        self, ep_devices: Sequence[Any], provider_options: Mapping[str, str]
    ) -> None:
        """Use the provider of devices, likewise."""
        for name in dict.fromkeys(device.ep_name for device in ep_devices):
            self.add_provider(name, provider_options)

    def has_providers(self) -> bool:
        """Whether providers were added."""
        return bool(self._providers)

    def set_provider_selection_policy(self, policy: Any) -> None:
        """Not read: the plan says what runs where."""
        _log.debug("a policy of providers is not read: devices= says what computes")

    def set_provider_selection_policy_delegate(self, delegate: Any) -> None:
        """Not read, either."""
        self.set_provider_selection_policy(delegate)

    def set_load_cancellation_flag(self, is_cancelled: bool) -> None:
        """Refuse to load a model with these options, or no longer; a load that began goes on."""
        self._is_cancelled = bool(is_cancelled)

    def set_ep_context_data_read_func(self, read: Any) -> None:
        """Not read: no provider that compiles contexts is used."""

    def clear_ep_context_data_read_func(self) -> None:
        """Nothing to clear."""

    def _copied(self) -> SessionOptions:
        """As they are now, whatever a program makes of them later."""
        copied = SessionOptions()
        for name in self.__slots__:
            object.__setattr__(copied, name, copy.copy(getattr(self, name)))
        return copied


def _is_whole(value: Any) -> bool:
    return hasattr(type(value), "__int__") and not isinstance(value, float)


def _taken(name: str, value: Any) -> Any:
    """What an attribute holds once it was set to a value.

    Raises
    ------
    TypeError
        If it takes no such value.
    """
    wanted = type(_DEFAULTS[name])
    if wanted is bool and (value is None or hasattr(type(value), "__bool__")):
        return bool(value)
    if wanted is int and _is_whole(value) and -_LONGEST_INT <= int(value) < _LONGEST_INT:
        return int(value)
    if wanted is str and isinstance(value, str | bytes | os.PathLike):
        return os.fsdecode(value)
    if issubclass(wanted, IntEnum) and type(value).__name__ == wanted.__name__:
        return wanted[value.name]
    raise TypeError(f"SessionOptions.{name} takes {wanted.__name__}, got {value!r}")
