"""Which machine a measurement is of."""

from __future__ import annotations

import hashlib
import platform
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from surplus.engine.devices.parsing import available_cores
from surplus.engine.native import load_runtime


@dataclass(frozen=True)
class Machine:
    """Where and with what times were measured.

    Parameters
    ----------
    host, system, cpu : str
        Host name, operating system, CPU model.
    cores : int
        Cores that the process might use.
    runtime_version : str
        ONNX Runtime's.
    driver : str
        GPU driver; empty without one.
    """

    host: str
    system: str
    cpu: str
    cores: int
    runtime_version: str
    driver: str = ""


def this_machine() -> Machine:
    """The machine that this process runs on."""
    return Machine(
        host=platform.node(),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        cpu=cpu_model(),
        cores=available_cores(),
        runtime_version=load_runtime(),
        driver=_first_line(Path("/proc/driver/nvidia/version")),
    )


def machine_fingerprint() -> str:
    """Short text that differs where times measured elsewhere must not be reused."""
    here = this_machine()
    parts = (here.cpu, here.cores, here.runtime_version, here.driver, platform.machine())
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


@cache
def cpu_model() -> str:
    """What the CPU calls itself."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


@cache
def _first_line(path: Path) -> str:
    try:
        return path.read_text().splitlines()[0]
    except (OSError, IndexError):
        return ""
