"""The devices of this machine, as the user may name them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from surplus.engine.devices.cuda_driver import GpuFacts, read_driver
from surplus.engine.devices.host import cpu_model
from surplus.engine.devices.plugins import PREFIX, listed_plugins, read_plugin
from surplus.engine.devices.presence import check_present, cuda_parts
from surplus.engine.devices.presets import GPUS
from surplus.engine.devices.spec import DeviceSpec, available_cores
from surplus.engine.errors import DeviceError

_GIB = 1 << 30


def inventory() -> dict[str, list[dict[str, Any]]]:
    """All devices, GPUs that cannot be driven and emulated ones included.

    Returns
    -------
    dict
        ``devices``: rows of name, what it is, its memory, and whether it can be used or why not;
        ``cuda``: rows of what a CUDA device needs (``presence.Part``).
    """
    cpu = {"device": f"cpu:{available_cores()}", "is": cpu_model(), "usable": "yes"}
    emulated = [
        {
            "device": f"emulated:gpu[{name}]",
            "is": f"EMULATED {gpu.title}: real outputs, times derived",
            "memory GiB": gpu.memory_bytes / _GIB,
            "usable": "yes",
        }
        for name, gpu in GPUS.items()
    ]
    return {
        "devices": [cpu, *map(_gpu_row, _gpus()), *map(_plugin_row, listed_plugins()), *emulated],
        "cuda": [asdict(part) for part in cuda_parts()],
    }


def _gpus() -> tuple[GpuFacts, ...]:
    try:
        return read_driver().gpus
    except DeviceError:
        return ()


def _gpu_row(gpu: GpuFacts) -> dict[str, Any]:
    spec = DeviceSpec("cuda", f"cuda:{gpu.index}", 1)
    return {
        "device": spec.name,
        "is": f"{gpu.name}, {gpu.sms} SMs, compute capability {gpu.capability}",
        "memory GiB": gpu.memory_bytes / _GIB,
        "usable": _usable(spec),
    }


def _plugin_row(name: str) -> dict[str, Any]:
    row = {"device": f"{PREFIX}{name}", "is": "a plugin provider of ONNX Runtime"}
    try:
        return {**row, "is": read_plugin(name).title, "usable": "yes"}
    except DeviceError as error:
        return {**row, "usable": f"no: {error}"}


def _usable(spec: DeviceSpec) -> str:
    try:
        check_present(spec)
    except DeviceError as error:
        return f"no: {error}"
    return "yes"
