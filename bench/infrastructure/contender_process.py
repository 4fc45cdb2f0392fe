"""A contender in a process of its own, asked by lines of JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any


class ContenderProcess:
    """Runs a module until nobody asks any more; it says a line when it is ready.

    Parameters
    ----------
    words : str
        Its arguments.
    quiet : bool
        Whether what it writes to its standard error is dropped.

    Attributes
    ----------
    first : dict
        What it said when it was ready.

    Raises
    ------
    EOFError
        If it has ended instead of an answer, here and wherever it is asked.
    """

    def __init__(self, module: str, *words: str, quiet: bool = False) -> None:
        pipe = subprocess.PIPE
        self._child = subprocess.Popen(
            [sys.executable, "-m", module, *words],
            stdin=pipe,
            stdout=pipe,
            stderr=subprocess.DEVNULL if quiet else None,
            text=True,
        )
        self._words = " ".join((module, *words))
        self.first = self._answer()

    def ask(self, **request: Any) -> dict[str, Any]:
        """What it says."""
        assert self._child.stdin, "it is a pipe"
        self._child.stdin.write(json.dumps(request) + "\n")
        self._child.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._child.stdout, "it is a pipe"
        line = self._child.stdout.readline()
        if not line:
            raise EOFError(f"{self._words} has ended with status {self._child.wait()}")
        found: dict[str, Any] = json.loads(line)
        return found

    def end(self) -> None:
        """It and what it started end when nobody asks any more."""
        self._child.communicate()
