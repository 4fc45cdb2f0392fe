"""How much memory there is for a server: the machine's, or its container's where that is less."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from surplus.engine.devices.machine_memory import machine_bytes

PART = 0.8
"""Of what there is: the rest is for the system, and for what nobody counts."""

_NO_LIMIT = 1 << 60
"""Version 1 says so much where there is no limit."""


def default_limit_bytes(root: Path = Path("/")) -> int:
    """What a server holds at most unless told otherwise; 0 where the system does not say.

    Parameters
    ----------
    root : Path
        Where ``proc`` and ``sys`` lie; another folder in tests.
    """
    machine = machine_bytes("MemTotal", root)
    found = [size for size in (machine, *_container_bytes(root)) if size]
    return int(min(found, default=0) * PART)


def _container_bytes(root: Path) -> Iterator[int]:
    """Limits of the process's control groups and of all above; version 2 and version 1."""
    mounts = root / "sys/fs/cgroup"
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers and "memory" not in controllers.split(","):
            continue
        name = "memory.limit_in_bytes" if controllers else "memory.max"
        mount = mounts / "memory" if controllers else mounts
        # A container may see its own group as the mount itself, under another name.
        group = mount / path.lstrip("/")
        for folder in (group, *group.parents):
            yield _size(_text(folder / name))
            if folder == mount:
                break


def _size(text: str) -> int:
    text = text.strip()
    size = int(text) if text.isdigit() else 0  # "max"
    return size if size < _NO_LIMIT else 0


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
