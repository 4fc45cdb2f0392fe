"""What all units of one check share: devices, folders, time."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from surplus.engine.devices.cuda_driver import read_driver
from surplus.engine.devices.cuda_runtime import open_runtime
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.devices.spec import DeviceSpec
from surplus.engine.errors import DeviceError


@dataclass(frozen=True)
class Setting:
    """Where a unit measures.

    Parameters
    ----------
    devices : str
        Its one GPU beside CPU lanes, for example ``cpu:16,cuda:0:4``.
    work : Path
        Folder of models and caches.
    results : Path
        Folder of this GPU's results.
    budget_s : float
        For how long the unit may measure; it is stopped soon after.
    """

    devices: str
    work: Path
    results: Path
    budget_s: float

    @property
    def specs(self) -> tuple[DeviceSpec, ...]:
        """The devices, parsed, the host's CPU first."""
        return parse_devices(self.devices)

    @property
    def gpu(self) -> int:
        """Index of the GPU among the devices."""
        return gpu_index(self.specs)

    @property
    def gpu_name(self) -> str:
        """Of the whole GPU, as device strings begin: ``cuda:0``."""
        return self.specs[self.gpu].memory

    @property
    def ordinal(self) -> int:
        """CUDA's number of the GPU."""
        return int(self.gpu_name.partition(":")[2])

    @property
    def is_emulated(self) -> bool:
        """Whether no GPU takes part."""
        return self.specs[self.gpu].traits.is_emulated

    @property
    def cache(self) -> Path:
        """Cache of plans and measured times, apart from the user's."""
        return self.work / "cache"


def gpu_index(specs: tuple[DeviceSpec, ...]) -> int:
    """Index of the one GPU.

    Raises
    ------
    DeviceError
        If there is none, or more than one.
    """
    found = [index for index, spec in enumerate(specs) if not spec.traits.is_host]
    if len(found) != 1:
        raise DeviceError(f"the check needs one GPU beside the CPU, got {len(found)}")
    return found[0]


def timed_devices(text: str) -> str:
    """The devices as they are measured: an emulated GPU answers from what it recorded.

    Else it would compute on the host's cores, for longer than it charges, and nothing of what the
    figures are about could be seen.
    """
    specs = parse_devices(text)
    return ",".join(replace(spec, replay=spec.traits.is_emulated).text for spec in specs)


_MARKS = ("EMULATED", "FAKE")
"""First words of the titles of what is no GPU."""


def mark_of(title: str) -> str:
    """EMULATED or FAKE; empty if a GPU takes part."""
    word = title.partition(" ")[0]
    return word if word in _MARKS else ""


def is_fake_cuda() -> bool:
    """Whether CUDA's library here is that of the tests, which computes nothing on any GPU."""
    return hasattr(open_runtime(), "fakeCudaViolations")


def gpu_title(specs: tuple[DeviceSpec, ...]) -> str:
    """The GPU's name; an emulated one's begins with EMULATED, one of the tests' with FAKE.

    Raises
    ------
    DeviceError
        If the driver does not know the GPU, or it is behind a plugin provider.
    """
    spec = specs[gpu_index(specs)]
    if spec.traits.is_emulated:
        return f"EMULATED {spec.preset}"
    if spec.traits.copies_in_runs:
        raise DeviceError(f"device {spec.name!r}: the check is of CUDA and emulated GPUs")
    gpus, index = read_driver().gpus, int(spec.memory.partition(":")[2])
    if index >= len(gpus):
        raise DeviceError(f"device {spec.name!r}: the driver sees {len(gpus)} GPUs")
    return f"FAKE {gpus[index].name}" if is_fake_cuda() else gpus[index].name


def folder_name(title: str) -> str:
    """A GPU's name as a folder: ``NVIDIA H200`` is ``nvidia-h200``, EMULATED stays in capitals."""
    words = re.findall(r"[A-Za-z0-9]+", title)
    return "-".join(word if word in _MARKS else word.lower() for word in words)
