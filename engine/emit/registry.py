"""The extension point: a runtime is a file with a function, named here."""

from __future__ import annotations

from pathlib import Path

from surplus.engine.emit.emitted import Emitted, Emitter, Placed
from surplus.engine.emit.onnxruntime import emit_onnxruntime

EMITTERS: dict[str, Emitter] = {"onnxruntime": emit_onnxruntime}
"""By the name that ``--emit`` takes."""


def emit(runtime: str, placed: Placed, folder: Path) -> Emitted:
    """Write a placement for a runtime of ``EMITTERS`` into a folder, which is made if need be.

    Raises
    ------
    PlacementError
        If the runtime cannot run such a plan.
    OSError
        If the folder or a file in it cannot be written.
    """
    folder.mkdir(exist_ok=True)
    return EMITTERS[runtime](placed, folder)
