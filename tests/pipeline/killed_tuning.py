"""Tunes a model and gets killed by SIGKILL at the moment named: MODEL CACHE MOMENT."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import surplus


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class HalfWritten:
    """A file whose process dies in the middle of a write."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def __enter__(self) -> HalfWritten:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, data: bytes) -> None:
        self._file.write(data[: len(data) // 2])
        if b"surplus-stored-plan" in data:
            self._file.flush()
            die()
        self._file.write(data[len(data) // 2 :])


def _watched(real: Any) -> Any:
    def replace(path: Path, target: Path) -> Path:
        if Path(target).name.startswith("plan-"):
            die()
        found: Path = real(path, target)
        return found

    return replace


def main(model: str, cache: str, moment: str) -> None:
    progress: Any = lambda *_: None  # noqa: E731
    if moment == "comparing":
        seen: list[int] = []

        def progress(stage: str, done: int, total: int) -> None:
            seen.append(done)
            if stage == "tune (s)" and len(seen) > 12:
                die()

    if moment == "writing":
        real = os.fdopen
        os.fdopen = lambda *args: HalfWritten(real(*args))  # type: ignore[assignment]
    if moment == "renaming":
        Path.replace = _watched(Path.replace)  # type: ignore[method-assign]
    surplus.load(model, "cpu:2", cache=Path(cache), tune_s=0.3, progress=progress)


if __name__ == "__main__":
    main(*sys.argv[1:])
