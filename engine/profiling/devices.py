"""Device strings: ``cpu:2``, ``cpu:1,emulated:gpu``, ``cpu,emulated:gpu[h200]:4``."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from engine.errors import DeviceError
from engine.profiling.links import DEFAULT_PRESET, HOST_MEMORY, LINKS

_EXAMPLES = (
    "examples: cpu:2; cpu:1,emulated:gpu; cpu,emulated:gpu[h200]:4; cpu,emulated:gpu[replay]"
)

_DEVICE = re.compile(
    r"(?P<kind>[a-z]+)(?::(?P<name>[a-z][a-z0-9_-]*))?(?:\[(?P<options>[^\[\]]*)\])?"
    r"(?::(?P<lanes>[0-9]+))?"
)
_MAX_LANES = 1024


@dataclass(frozen=True)
class DeviceSpec:
    """One device that the user asked for.

    Parameters
    ----------
    kind : {"cpu", "emulated"}
        What computes.
    name : str
        Unique among the devices, for example ``cpu`` or ``emulated:gpu``.
    lanes : int
        Segments that it runs at once, >= 1.
    preset : str
        Which GPU an emulated device stands for; empty for the CPU.
    replay : bool
        Whether an emulated device answers from outputs recorded on its first run.
    """

    kind: Literal["cpu", "emulated"]
    name: str
    lanes: int
    preset: str = ""
    replay: bool = False

    @property
    def widths(self) -> tuple[int, ...]:
        """Widths worth measuring: powers of two up to all lanes; 1 on an emulated device."""
        if self.kind != "cpu":
            return (1,)
        powers = (1 << i for i in range(self.lanes.bit_length()))
        return tuple(sorted({*powers, self.lanes}))

    @property
    def memory(self) -> str:
        """The memory space of its tensors."""
        return HOST_MEMORY if self.kind == "cpu" else self.name


def parse_devices(text: str) -> tuple[DeviceSpec, ...]:
    """Read a list of devices, the host's CPU first.

    The CPU's lanes default to the cores that this process may use, an emulated device's to 1.
    Where no CPU is named it is added: the host takes part in every plan.

    Raises
    ------
    DeviceError
        Naming what is wrong, with examples.
    """
    specs = [_device(part.strip()) for part in re.split(r",(?![^\[]*\])", text)]
    names = [spec.name for spec in specs]
    for name in names:
        if names.count(name) > 1:
            raise DeviceError(f"devices {text!r}: {name!r} appears twice ({_EXAMPLES})")
    if "cpu" not in names:
        specs.append(DeviceSpec("cpu", "cpu", available_cores()))
    return tuple(sorted(specs, key=lambda spec: spec.kind != "cpu"))


def available_cores() -> int:
    """Cores that this process may use: affinity, and the container's quota rounded up."""
    cores = len(os.sched_getaffinity(0))
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return max(1, min(cores, -(-int(quota) // int(period))))
    except (OSError, ValueError):
        return cores


def _device(text: str) -> DeviceSpec:
    match = _DEVICE.fullmatch(text)
    if match is None:
        raise DeviceError(f"device {text!r} is not understood ({_EXAMPLES})")
    lanes = None if match["lanes"] is None else int(match["lanes"])
    if lanes is not None and not 1 <= lanes <= _MAX_LANES:
        raise DeviceError(f"device {text!r}: lanes must be 1 to {_MAX_LANES} ({_EXAMPLES})")
    if match["kind"] == "cpu":
        if match["name"] or match["options"] is not None:
            raise DeviceError(f"device {text!r}: a cpu has no name and no options ({_EXAMPLES})")
        return DeviceSpec("cpu", "cpu", lanes or available_cores())
    if match["kind"] == "emulated":
        return _emulated(text, match["name"], match["options"] or "", lanes or 1)
    raise DeviceError(f"device {text!r}: unknown kind {match['kind']!r} ({_EXAMPLES})")


def _emulated(text: str, name: str | None, options: str, lanes: int) -> DeviceSpec:
    if name is None:
        raise DeviceError(f"device {text!r} needs a name, as in emulated:gpu ({_EXAMPLES})")
    words = [word.strip() for word in re.split("[,;]", options) if word.strip()]
    presets = [word for word in words if word in LINKS]
    unknown = [word for word in words if word != "replay" and word not in LINKS]
    if unknown or len(presets) > 1:
        known = ", ".join(sorted(LINKS))
        raise DeviceError(f"device {text!r}: options are replay and one of {known} ({_EXAMPLES})")
    preset = presets[0] if presets else DEFAULT_PRESET
    return DeviceSpec("emulated", f"emulated:{name}", lanes, preset, "replay" in words)
