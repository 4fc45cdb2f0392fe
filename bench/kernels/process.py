"""A contender's process, and what it is asked (contender.py)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.infrastructure.contender_process import ContenderProcess

_PAUSE_S = 0.03
"""Between turns: threads of the one before still spin."""


class Process(ContenderProcess):
    """A contender with its models, each a file and one of its inputs.

    Attributes
    ----------
    facts : dict
        What it says of the last model; empty where it took one of them not.
    """

    def __init__(self, how: str, models: Sequence[tuple[Path, Path]], cache: Path) -> None:
        files = [str(path) for pair in models for path in pair]
        self.facts: dict[str, Any] = {}
        try:
            super().__init__("bench.kernels.contender", how, str(cache), *files, quiet=True)
        except EOFError:
            return
        self.facts = self.first["facts"]

    @property
    def is_there(self) -> bool:
        """Whether it took the models."""
        return self._child.poll() is None

    def ask(self, **request: Any) -> dict[str, Any]:
        """What it answers."""
        time.sleep(_PAUSE_S)
        return super().ask(**request)
