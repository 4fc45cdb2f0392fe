"""Segments as ONNX Runtime executes them: where these files lie (prepacking.py makes them)."""

from __future__ import annotations

import functools
import hashlib
import logging
from pathlib import Path

from surplus.engine.cache.private import write_private
from surplus.engine.cache.sealed_file import read_intact, sealed
from surplus.engine.devices.host import machine_fingerprint

_log = logging.getLogger(__name__)

LEVEL = "disable_all"
"""How sessions load such a file: it has been optimised."""

_SUFFIX = ".laid.onnx"


def prepacked_file(source: Path) -> Path | None:
    """The prepacked form of a segment's file, to be loaded at ``LEVEL``; None if it has none.

    It is good for this ONNX Runtime on processors like this one.
    """
    target = prepacked_path(source)
    return target if read_intact(target) else None


def refuse(prepacked: Path) -> None:
    """Note that ONNX Runtime does not load what it saved, so that nobody tries it again.

    The note is an empty model.
    """
    try:
        write_private(prepacked, sealed(b"", prepacked.parent))
    except OSError as error:
        _log.warning("%s: %s", prepacked.name, error)


def prepacked_path(source: Path) -> Path:
    """Where the prepacked form of a segment's file lies, if there is one."""
    return source.with_name(f"{source.stem}-{processor_key()}{_SUFFIX}")


@functools.cache
def processor_key() -> str:
    """Packed weights fit the kernels that they were packed for, which the processor decides."""
    text = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    flags = next((line for line in text if line.startswith(("flags", "Features"))), "")
    return hashlib.sha256(f"{machine_fingerprint()} {flags}".encode()).hexdigest()[:16]
