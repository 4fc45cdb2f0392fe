"""What stands for the core's plan of a model that was closed, and the error of a closed machine."""

from __future__ import annotations

from typing import NoReturn

from surplus.engine import _core
from surplus.engine.errors import ExecutionError


class ClosedPlan:
    """Refuses whatever is asked of it."""

    def __init__(self, model: str) -> None:
        self._model = model

    def __getattr__(self, name: str) -> NoReturn:
        raise ExecutionError(f"model {self._model!r} is closed")


def raise_closed(error: RuntimeError) -> NoReturn:
    """What the core's refusal of a query is to its user; a daemon thread ends with its process."""
    if _core.refuses_calls():
        raise SystemExit from error
    raise ExecutionError(str(error)) from error
