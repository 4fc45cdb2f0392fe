"""One call of the command, in this process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from surplus.engine.cli.main import main

DEVICES = "cpu:2,emulated:gpu"
WITHOUT_CACHE = ("models", "study", "token", "health", "--help")


@dataclass(frozen=True)
class Called:
    status: int
    out: str
    err: str

    def json(self) -> Any:
        """Standard output, which must be nothing but JSON."""
        return json.loads(self.out, parse_constant=_refuse)

    def is_one_clear_line(self) -> bool:
        return (
            self.status in (1, 2)
            and self.out == ""
            and self.err.startswith("engine")
            and self.err.count("\n") == 1
            and "internal error" not in self.err
        )


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


@dataclass(frozen=True)
class Command:
    """``engine`` with a cache of its own, and files to use it on."""

    folder: Path
    capsys: pytest.CaptureFixture[str]

    def __call__(self, verb: str, *words: object) -> Called:
        self.capsys.readouterr()
        cache = [] if verb in WITHOUT_CACHE else ["--cache", str(self.folder / "cache")]
        try:
            status = main([verb, *map(str, words), *cache])
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else 1
        out, err = self.capsys.readouterr()
        return Called(status, out, err)

    def path(self, name: str) -> Path:
        return self.folder / name
