"""A contender's process, and what it is asked (contender.py)."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_PAUSE_S = 0.03
"""Between turns: threads of the one before still spin."""


class Process:
    """A contender with its models, each a file and one of its inputs."""

    def __init__(self, how: str, models: Sequence[tuple[Path, Path]], cache: Path) -> None:
        words = [sys.executable, "-m", "bench.kernels.contender", how, str(cache)]
        files = [str(path) for pair in models for path in pair]
        pipe = subprocess.PIPE
        self._child = subprocess.Popen(
            [*words, *files], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )
        self.facts: dict[str, Any] = self._answer().get("facts", {})

    @property
    def is_there(self) -> bool:
        """Whether it took the models."""
        return self._child.poll() is None

    def ask(self, **request: Any) -> dict[str, Any]:
        """What it answers; nothing if it has ended."""
        assert self._child.stdin, "it is a pipe"
        time.sleep(_PAUSE_S)
        try:
            self._child.stdin.write(json.dumps(request) + "\n")
            self._child.stdin.flush()
        except BrokenPipeError:
            return {}
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._child.stdout, "it is a pipe"
        line = self._child.stdout.readline()
        if not line:
            self._child.wait()
            return {}
        found: dict[str, Any] = json.loads(line)
        return found

    def end(self) -> None:
        """Without waiting for what it does."""
        self._child.kill()
        self._child.wait()
