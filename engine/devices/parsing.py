"""Device strings: ``cpu:2``, ``emulated:gpu[h200]:4``, ``cuda:0:2``, ``plugin:webgpu``."""

from __future__ import annotations

import re
from dataclasses import replace

from surplus.engine import _core
from surplus.engine.devices.registry import KINDS
from surplus.engine.devices.spec import DeviceSpec, kind_named, kind_of
from surplus.engine.errors import DeviceError

_EXAMPLES = "examples: cpu:2; cpu:1,emulated:gpu; cuda:0:4; docs/GPU.md has all"


def parse_devices(text: str) -> tuple[DeviceSpec, ...]:
    """Read a list of devices, the host's CPU first.

    The CPU's lanes default to the cores that this process may use, less one for the submitting
    thread of each GPU; a GPU's to 1. Partitions of a
    GPU are devices of their own, as in ``cuda:0[64sm],cuda:0[32sm]``; a GPU is named whole or by
    partitions. Whether a GPU is there is asked when a model is loaded onto it.
    Where no CPU is named it is added: the host takes part in every plan.

    Raises
    ------
    DeviceError
        Naming what is wrong, with examples.
    """
    specs = [_device(part.strip()) for part in re.split(r",(?![^\[]*\])", text)]
    try:
        _check_together(specs)
    except DeviceError as error:
        raise DeviceError(f"devices {text!r}: {error} ({_EXAMPLES})") from error
    if not any(spec.traits.is_host for spec in specs):
        specs.append(DeviceSpec("cpu", "cpu", 0))
    gpus = {spec.memory for spec in specs if not spec.traits.is_host}
    specs = [spec if spec.lanes else replace(spec, lanes=_lanes(spec, len(gpus))) for spec in specs]
    return tuple(sorted(specs, key=lambda spec: not spec.traits.is_host))


def _lanes(spec: DeviceSpec, gpus: int) -> int:
    """Of a device that was named without a number."""
    return max(1, available_cores() - gpus) if spec.traits.is_host else 1


def cpu_of(cores: int) -> tuple[DeviceSpec, ...]:
    """So many lanes of the host's CPU, as ``cpu:2`` names them."""
    return (DeviceSpec("cpu", "cpu", cores),)


def available_cores() -> int:
    """Cores that this process may use: affinity, and the container's quota rounded up."""
    return _core.available_cores()


def _device(text: str) -> DeviceSpec:
    kind = kind_of(text)
    if kind not in KINDS:
        is_word = re.fullmatch("[a-z]+", kind)
        why = f": unknown kind {kind!r}" if is_word else " is not understood"
        raise DeviceError(f"device {text!r}{why} ({_EXAMPLES})")
    try:
        return kind_named(kind).parse(text)
    except DeviceError as error:
        raise DeviceError(f"{error} ({_EXAMPLES})") from error


def _check_together(specs: list[DeviceSpec]) -> None:
    names = [spec.name for spec in specs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DeviceError(f"{twice!r} appears twice")
    for kind in dict.fromkeys(spec.kind for spec in specs):
        kind_named(kind).check_together([spec for spec in specs if spec.kind == kind])
