"""A child process in which a library of kernels is tried: what ends a process ends that one."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Any


class LibraryChild:
    """A process that works through a question with a library, step by step.

    It says a line of JSON before each step (``begun``) and after it (``done``).

    Parameters
    ----------
    question : mapping
        What it reads from its standard input, as JSON.
    start : str
        What its interpreter executes; ``PATH`` stands for where modules are found.
    """

    def __init__(self, question: Mapping[str, Any], start: str) -> None:
        self._asked = json.dumps(question).encode() + b"\n"
        self._start = start.replace("PATH", repr(sys.path))
        self.begun: int | None = None
        """Which it was at last."""
        self.end = ""
        """How it ended there."""

    def lines(self, time_s: float) -> list[dict[str, Any]]:
        """All that it says; it is ended when the time is over."""
        pipe = subprocess.PIPE
        command = [sys.executable, "-c", self._start]
        said: list[dict[str, Any]] = []
        with subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, start_new_session=True
        ) as child:
            assert child.stdin, "it is a pipe"
            assert child.stdout, "it is a pipe"
            over = threading.Event()

            def end() -> None:
                over.set()
                child.kill()

            timer = threading.Timer(time_s, end)
            timer.start()
            try:
                child.stdin.write(self._asked)
                child.stdin.flush()
                said = [json.loads(line) for line in child.stdout]
            except BrokenPipeError:
                over.set()
            finally:
                timer.cancel()
                child.kill()
        self.begun = next((line["begun"] for line in reversed(said) if "begun" in line), None)
        took = "did not end in time" if over.is_set() else f"ended with code {child.returncode}"
        self.end = took
        return said
