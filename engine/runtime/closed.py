"""What stands for the core's plan of a model that was closed."""

from __future__ import annotations

from typing import NoReturn

from surplus.engine.errors import ExecutionError


class ClosedPlan:
    """Refuses whatever is asked of it."""

    def __init__(self, model: str) -> None:
        self._model = model

    def __getattr__(self, name: str) -> NoReturn:
        raise ExecutionError(f"model {self._model!r} is closed")
