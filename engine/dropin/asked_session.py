"""What session options ask for: ours, or the ``onnxruntime`` module's where that is loaded."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from surplus.engine.dropin.levels import LEVEL_NAMES, GraphOptimizationLevel
from surplus.engine.dropin.session_options import SessionOptions
from surplus.engine.dropin.statuses import InvalidArgument, status
from surplus.engine.dropin.urgency_entries import load_options

_log = logging.getLogger(__name__)

_OURS = "surplus."
_FORMAT_KEY = "session.load_model_format"
_FOLDER_KEY = "session.model_external_initializers_file_folder_path"
_DISABLED_KEY = "optimization.disable_specified_optimizers"
_SAVING = ("session.optimized_model_", "session.save_model_format")
"""What only counts where the optimised model is saved."""

_IGNORED = (
    "session.intra_op",
    "session.inter_op",
    "session.dynamic_block_base",
    "session.force_spinning_stop",
    "session.use_env_allocators",
    "session.use_device_allocator_for_initializers",
    "session.record_ep_graph_assignment_info",
)
"""Beginnings of entries on threads and memory, which the engine has for all models together."""

_THEIR_KEYS = (
    _FORMAT_KEY,
    _FOLDER_KEY,
    "mlas.enable_gemm_fastmath_arm64_bfloat16",
    _DISABLED_KEY,
    "optimization.enable_cast_chain_elimination",
    "optimization.enable_gelu_approximation",
    "optimization.memory_optimizer_config",
    "optimization.minimal_build_optimizations",
    "session.allow_released_opsets_only",
    "session.disable_aot_function_inlining",
    "session.disable_cpu_ep_fallback",
    "session.disable_double_qdq_remover",
    "session.disable_prepacking",
    "session.disable_quant_qdq",
    "session.enable_quant_qdq_cleanup",
    "session.optimized_model_external_initializers_file_name",
    "session.optimized_model_external_initializers_min_size_in_bytes",
    "session.qdq_matmulnbits_accuracy_level",
    "session.qdqisint8allowed",
    "session.save_model_format",
    "session.set_denormal_as_zero",
    "session.strict_shape_type_inference",
    "session.use_ort_model_bytes_directly",
    "session.x64quantprecision",
    "surplus.best_effort",
    "surplus.deadline_ms",
    "surplus.priority",
)
"""What the module's options are asked for: they do not say which entries they have."""


@dataclass(frozen=True)
class AskedSession:
    """How a model is to be opened.

    Parameters
    ----------
    level : str
        Of optimisation, by the core's names.
    config : mapping
        Entries that ONNX Runtime must be given: they change what it computes.
    custom_operators : tuple of str
        Paths of libraries.
    free_by_name, free_by_denotation : mapping of str to int
        Sizes of open dimensions.
    initializers : mapping of str to OrtValue
        Instead of the model's.
    files : mapping of str to bytes
        External data by the names that the model has for them.
    weights_folder : str
        Where the external data of a model lies that is given as bytes; empty for the working
        folder.
    profile_prefix : str or None
        What the profile's file begins with; None for no profile.
    optimized_path : str
        Where to save the optimised model; empty for nowhere.
    saving : mapping
        Entries for that.
    load_options : mapping
        ``surplus.load``'s, of entries that begin with ``surplus.``; a lane a query where one thread
        is asked for.
    """

    level: str = "all"
    config: Mapping[str, str] = field(default_factory=dict)
    custom_operators: tuple[str, ...] = ()
    free_by_name: Mapping[str, int] = field(default_factory=dict)
    free_by_denotation: Mapping[str, int] = field(default_factory=dict)
    initializers: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    weights_folder: str = ""
    profile_prefix: str | None = None
    optimized_path: str = ""
    saving: Mapping[str, str] = field(default_factory=dict)
    load_options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_told(self) -> bool:
        """Whether ONNX Runtime is told how to compute: one session then runs the whole model."""
        return self.level != "all" or bool(self.config or self.custom_operators)

    @property
    def rewrites(self) -> bool:
        """Whether the model itself is changed before it is opened."""
        return bool(self.free_by_name or self.free_by_denotation or self.initializers or self.files)


def asked_session(options: Any, disabled_optimizers: Iterable[str] = ()) -> AskedSession:
    """What session options say; None says nothing.

    Parameters
    ----------
    disabled_optimizers : iterable of str
        Optimisers that ONNX Runtime is to leave out, beside those that an entry names.

    Raises
    ------
    InvalidArgument
        If they are none, or an entry of ours is wrong.
    """
    if options is None:
        options = SessionOptions()
    if not hasattr(options, "graph_optimization_level"):
        raise status(
            InvalidArgument, f"sess_options must be SessionOptions, got {type(options).__name__}"
        )
    _say_ignored(options)
    entries = dict(_entries(options))
    if names := sorted(disabled_optimizers):
        entries[_DISABLED_KEY] = ";".join(filter(None, (entries.get(_DISABLED_KEY), *names)))
    level = GraphOptimizationLevel(int(options.graph_optimization_level))
    return AskedSession(
        LEVEL_NAMES[level],
        {key: value for key, value in entries.items() if _is_told(key, value)},
        **_beyond_attributes(options),
        weights_folder=entries.get(_FOLDER_KEY, ""),
        profile_prefix=options.profile_file_prefix if options.enable_profiling else None,
        optimized_path=str(options.optimized_model_filepath),
        saving={key: value for key, value in entries.items() if key.startswith(_SAVING)},
        load_options={
            **({"first_width": 1} if options.intra_op_num_threads == 1 else {}),
            **load_options({k: v for k, v in entries.items() if k.startswith(_OURS)}),
        },
    )


def _entries(options: Any) -> Iterator[tuple[str, str]]:
    if isinstance(options, SessionOptions):
        yield from options._config.items()
        return
    for key in _THEIR_KEYS:
        try:
            yield key, options.get_session_config_entry(key)
        except RuntimeError:  # it has none
            continue


def _is_told(key: str, value: str) -> bool:
    if key.startswith(_IGNORED):
        _log.debug("%s = %s is not read: threads and memory are shared by all models", key, value)
        return False
    if key == _FORMAT_KEY:
        return value.upper() == "ORT"
    return key != _FOLDER_KEY and not key.startswith((_OURS, *_SAVING))


def _beyond_attributes(options: Any) -> dict[str, Any]:
    """What only our options can be asked for; the module's keep it to themselves."""
    if not isinstance(options, SessionOptions):
        _log.info(
            "free dimensions, initializers and libraries of operators of onnxruntime's own"
            " SessionOptions cannot be read: take surplus.SessionOptions, or `engine adopt`"
        )
        return {}
    return {
        "custom_operators": tuple(options._custom_operators),
        "free_by_name": dict(options._free_by_name),
        "free_by_denotation": dict(options._free_by_denotation),
        "initializers": dict(options._initializers),
        "files": dict(options._files),
    }


def _say_ignored(options: Any) -> None:
    for name in ("intra_op_num_threads", "inter_op_num_threads"):
        number = getattr(options, name)
        if number and (name, number) != ("intra_op_num_threads", 1):
            _log.debug("%s = %s is not read: devices= says how many lanes to use", name, number)
    for name in ("enable_cpu_mem_arena", "enable_mem_pattern", "enable_mem_reuse"):
        if not getattr(options, name):
            _log.debug("%s is not read: the engine decides how tensors are allocated", name)
    if int(options.execution_mode):
        _log.debug("execution_mode is not read: the plan says what runs side by side")
