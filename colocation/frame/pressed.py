"""Pressure as the machine tells it: who can read it, and who wants to know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from surplus.colocation.frame.dispatcher import Dispatcher
from surplus.colocation.frame.executor import Executor


@runtime_checkable
class Pressed(Protocol):
    """An executor, or a backend, on a machine that tells how hard other work presses on it."""

    def pressure(self) -> float | None:
        """The last reading, 0 where nothing presses; None if the machine tells nothing."""
        ...


@runtime_checkable
class ReadsPressure(Protocol):
    """A dispatcher that looks at ``state.pressure`` if this is true; for others nobody reads it."""

    reads_pressure: bool


def pressure_for(dispatcher: Dispatcher, executor: Executor) -> Callable[[], float | None]:
    """What reads the pressure for a dispatcher: nothing, unless both can."""
    wanted = isinstance(dispatcher, ReadsPressure) and dispatcher.reads_pressure
    return executor.pressure if wanted and isinstance(executor, Pressed) else _not_read


def _not_read() -> None:
    return None
