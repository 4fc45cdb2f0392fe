"""A process in which a library of kernels is tried: what ends a process ends that one."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Mapping
from typing import Any

from surplus.engine.detached_process import DetachedProcess

_SUPERVISED = """
import os, sys
child = os.fork()
if child == 0:
    exec(sys.argv[1])
    os._exit(0)
status = os.waitpid(child, 0)[1]
print('{"exit": %d}' % os.waitstatus_to_exitcode(status), flush=True)
"""
"""Says how what it executes in a fork has ended: nobody else can wait for that."""


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

    def lines(self, interpreter: str, time_s: float) -> list[dict[str, Any]]:
        """All that it says; it is ended when the time is over."""
        said: list[dict[str, Any]] = []
        with DetachedProcess([interpreter, "-c", _SUPERVISED, self._start]) as child:
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
        self.begun = next((line["begun"] for line in reversed(said) if "begun" in line), None)
        code = said.pop()["exit"] if said and "exit" in said[-1] else None
        if code is None:
            self.end = "did not end in time" if over.is_set() else "was ended"
        else:
            self.end = f"ended with code {code}"
        return said
