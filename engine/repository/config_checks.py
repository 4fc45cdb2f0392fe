"""What of a configuration is wrong by itself, whatever the model; by Triton's own rules."""

from __future__ import annotations

from typing import Any

from surplus.engine.repository.config_message import enum_number
from surplus.engine.repository.field_lines import FieldLines

PLATFORMS = {"": "", "onnxruntime_onnx": "onnxruntime", "surplus_onnx": "surplus", "ensemble": ""}
"""Those that are served, and the backend of each."""

BACKENDS = ("", "onnxruntime", "surplus")

MOST_LEVELS = 9
"""Of priorities that queries of one model can have."""


def check_config(message: Any, lines: FieldLines, folder: str) -> None:
    """Refuse what cannot be meant.

    Parameters
    ----------
    folder : str
        The name of the model's folder.

    Raises
    ------
    ConfigError
        Naming file, line and field.
    """
    if message.name not in ("", folder):
        raise lines.wrong("name", f"is {message.name!r}, but the model's folder is {folder!r}")
    _check_platform(message, lines)
    if message.max_batch_size < 0:
        raise lines.wrong("max_batch_size", f"is {message.max_batch_size}, must be 0 or more")
    for kind in ("input", "output"):
        _check_tensors(getattr(message, kind), kind, lines)
    _check_versions(message.version_policy, lines)
    for index, group in enumerate(message.instance_group):
        _check_group(group, f"instance_group[{index}]", lines)
    if message.response_cache.enable and message.HasField("sequence_batching"):
        raise lines.wrong("response_cache.enable", "is true, but answers depend on a sequence")
    if message.HasField("dynamic_batching"):
        _check_batching(message, lines)


def _check_platform(message: Any, lines: FieldLines) -> None:
    if message.platform not in PLATFORMS:
        known = ", ".join(filter(None, PLATFORMS))
        raise lines.wrong("platform", f"{message.platform!r} is not served; served: {known}")
    if message.backend not in BACKENDS:
        known = ", ".join(filter(None, BACKENDS))
        raise lines.wrong("backend", f"{message.backend!r} is not served; served: {known}")
    is_ensemble = message.platform == "ensemble"
    if is_ensemble and message.backend:
        raise lines.wrong("backend", "an ensemble has none")
    if is_ensemble != message.HasField("ensemble_scheduling"):
        field = "platform" if is_ensemble else "ensemble_scheduling"
        raise lines.wrong(field, "platform: 'ensemble' and ensemble_scheduling go together")


def _check_tensors(tensors: Any, kind: str, lines: FieldLines) -> None:
    names = set()
    for index, tensor in enumerate(tensors):
        at = f"{kind}[{index}]"
        if not tensor.name:
            raise lines.wrong(f"{at}.name", f"an {kind} needs a name")
        if tensor.name in names:
            raise lines.wrong(f"{at}.name", f"{tensor.name!r} is there twice")
        names.add(tensor.name)
        wrong = [size for size in tensor.dims if size < 1 and size != -1]
        if wrong:
            raise lines.wrong(f"{at}.dims", f"has {wrong[0]}; sizes are positive, or -1 for any")
        if tensor.HasField("reshape"):
            _check_reshape(tensor, at, lines)


def _check_reshape(tensor: Any, at: str, lines: FieldLines) -> None:
    """As many elements on either side; open sizes in the same number and order."""
    if _elements(tensor.dims) != _elements(tensor.reshape.shape):
        raise lines.wrong(
            f"{at}.reshape",
            f"{list(tensor.reshape.shape)} holds other elements than dims {list(tensor.dims)}",
        )


def _elements(shape: Any) -> list[int]:
    """Of what lies before, between and behind the open sizes."""
    parts = [1]
    for size in shape:
        if size == -1:
            parts.append(1)
        else:
            parts[-1] *= size
    return parts


def _check_versions(policy: Any, lines: FieldLines) -> None:
    if policy.HasField("latest") and policy.latest.num_versions < 1:
        raise lines.wrong("version_policy.latest.num_versions", "is 0, must be at least 1")
    if policy.HasField("specific") and not policy.specific.versions:
        raise lines.wrong("version_policy.specific.versions", "names no version")
    for version in policy.specific.versions:
        if version < 1:
            raise lines.wrong("version_policy.specific.versions", f"{version} is no version")


def _check_group(group: Any, at: str, lines: FieldLines) -> None:
    if group.count < 0:
        raise lines.wrong(f"{at}.count", f"is {group.count}, must be 1 or more")
    if group.kind == enum_number("ModelInstanceGroup.Kind", "KIND_CPU") and group.gpus:
        raise lines.wrong(f"{at}.gpus", "KIND_CPU has none")
    for gpu in group.gpus:
        if gpu < 0:
            raise lines.wrong(f"{at}.gpus", f"{gpu} is no GPU")


def _check_batching(message: Any, lines: FieldLines) -> None:
    batching, at = message.dynamic_batching, "dynamic_batching"
    for size in batching.preferred_batch_size:
        if size < 1:
            raise lines.wrong(f"{at}.preferred_batch_size", f"{size} is not positive")
        if 0 < message.max_batch_size < size:
            raise lines.wrong(
                f"{at}.preferred_batch_size",
                f"{size} is more than max_batch_size, {message.max_batch_size}",
            )
    levels, default = batching.priority_levels, batching.default_priority_level
    if levels > MOST_LEVELS:
        raise lines.wrong(f"{at}.priority_levels", f"is {levels}, must be {MOST_LEVELS} or less")
    if levels and not 1 <= default <= levels:
        raise lines.wrong(
            f"{at}.default_priority_level", f"is {default}, must be 1 to {levels}, priority_levels"
        )
    if not levels and default:
        raise lines.wrong(f"{at}.default_priority_level", "there are no priority_levels")
    for level in batching.priority_queue_policy:
        if not 1 <= level <= levels:
            raise lines.wrong(
                f"{at}.priority_queue_policy",
                f"has one of level {level}; priority_levels is {levels}",
            )
