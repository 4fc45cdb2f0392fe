"""Plugin execution providers of ONNX Runtime: which are here, and what they drive.

A provider is a library that brings kernels for other processors: ``plugin:webgpu`` drives the GPUs
of any vendor through WebGPU. It is registered with ONNX Runtime once in a process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from surplus.engine import _core
from surplus.engine.devices.opened_plugins import OPENED
from surplus.engine.errors import DeviceError, RuntimeLibraryError, one_line
from surplus.engine.native import find_plugin_library, installed_plugins, load_runtime

PREFIX = "plugin:"
"""How devices of this kind are named."""

_SUPPORTED = "webgpu"
"""The provider that is listed whether it is installed or not."""

_GPUS = "/sys/class/drm"


@dataclass(frozen=True)
class PluginFacts:
    """A registered provider and the processor that it drives.

    Parameters
    ----------
    name : str
        As users name it, for example ``webgpu``.
    library : str
        Path of its library.
    provider : str
        ONNX Runtime's name of it, for example ``WebGpuExecutionProvider``.
    processor : str
        What it drives: ``GPU``, ``NPU`` or ``CPU``, who made it or PCI's numbers of it.
    details : mapping of str to str
        What else the provider says, its version among it.
    """

    name: str
    library: str
    provider: str
    processor: str
    details: Mapping[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """What computes, in words; times of another title are not reused."""
        version = self.details.get("version", "")
        return f"{self.processor} through {self.provider} {version}".rstrip()


def read_plugin(name: str) -> PluginFacts:
    """Register a provider, unless that was done, and ask what it drives: the first GPU, if any.

    Raises
    ------
    DeviceError
        If it is not installed, does not register, or finds nothing to drive.
    """
    try:
        library = str(find_plugin_library(name))
        load_runtime()
        OPENED.add(name)
        processors = _core.open_plugin(name, library)
    except (RuntimeLibraryError, RuntimeError) as error:
        raise DeviceError(one_line(error)) from error
    if not processors:
        raise DeviceError(
            f"{library} is registered, but finds no GPU: ONNX Runtime lists those under {_GPUS}"
        )
    chosen = next((row for row in processors if row["kind"] == "GPU"), processors[0])
    return PluginFacts(name, library, chosen["provider"], _processor(chosen), chosen["facts"])


def listed_plugins() -> list[str]:
    """Providers that ``engine devices`` speaks of: those installed, and WebGPU."""
    return sorted({_SUPPORTED, *installed_plugins()})


def _processor(row: Mapping[str, Any]) -> str:
    number = f"{row['vendor_id']:04x}:{row['device_id']:04x}"
    return f"{row['kind']} {row['vendor'] or number}"
