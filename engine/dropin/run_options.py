"""``RunOptions``: what a program says of one query."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from surplus.engine.dropin.statuses import Fail, NotImplemented, status
from surplus.engine.dropin.urgency_entries import KEYS, query_options

_log = logging.getLogger(__name__)

_TERMINATED = "Exiting due to terminate flag being set to true."


class Cancellable(Protocol):
    """A query in flight."""

    def cancel(self) -> object:
        """Ask it to stop."""


class RunOptions:
    """ONNX Runtime's attributes and methods, and ``surplus.deadline_ms``, ``surplus.priority`` and
    ``surplus.best_effort`` as entries.

    Attributes
    ----------
    log_severity_level, log_verbosity_level, logid
        Kept, and not read: the engine logs by Python's ``logging``.
    only_execute_path_to_fetches : bool
        Kept, and not read: all outputs are computed, those asked for returned.
    """

    def __init__(self) -> None:
        self.log_severity_level = -1
        self.log_verbosity_level = 0
        self.logid = ""
        self.only_execute_path_to_fetches = False
        self._entries: dict[str, str] = {}
        self._terminate = False
        self._in_flight: weakref.WeakSet[Any] = weakref.WeakSet()

    @property
    def terminate(self) -> bool:
        """Whether queries with these options end, those in flight and later ones."""
        return self._terminate

    @terminate.setter
    def terminate(self, value: bool) -> None:
        self._terminate = bool(value)
        if self._terminate:
            for query in tuple(self._in_flight):
                query.cancel()

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Say something that has no attribute; later values replace earlier ones."""
        self._entries[key] = value

    def get_run_config_entry(self, key: str) -> str:
        """What was said.

        Raises
        ------
        RuntimeError
            If nothing was.
        """
        if key not in self._entries:
            raise RuntimeError(f"RunOptions does not have configuration with key: {key}")
        return self._entries[key]

    def add_active_adapter(self, adapter: Any) -> None:
        """Refused.

        Raises
        ------
        NotImplemented
        """
        raise status(NotImplemented, "LoRA adapters are not there")


def said_of(options: Any) -> dict[str, Any]:
    """The arguments of ``Model.submit`` that run options stand for, ours or the module's.

    Raises
    ------
    Fail
        If they say that queries end.
    InvalidArgument
        If an entry of ours is wrong.
    TypeError
        If they are none.
    """
    if options is None:
        return {}
    if not hasattr(options, "get_run_config_entry"):
        raise TypeError(f"run_options must be RunOptions, got {type(options).__name__}")
    if options.terminate:
        raise terminated()
    return dict(query_options(_entries(options)))


def terminated() -> Exception:
    """What a query ends with whose options say that it ends."""
    return status(Fail, _TERMINATED)


@contextmanager
def ended_by(options: Any, query: Cancellable) -> Iterator[None]:
    """Let ``terminate`` of our options end the query meanwhile; the module's cannot be watched."""
    if not isinstance(options, RunOptions):
        yield
        return
    options._in_flight.add(query)
    try:
        if options.terminate:  # since it was asked
            query.cancel()
        yield
    finally:
        options._in_flight.discard(query)


def _entries(options: Any) -> dict[str, str]:
    if isinstance(options, RunOptions):
        others = [key for key in options._entries if not key.startswith("surplus.")]
        if others:
            _log.debug("of run options these are not read: %s", ", ".join(others))
        return {key: v for key, v in options._entries.items() if key.startswith("surplus.")}
    found = {}
    for key in KEYS:
        try:
            found[key] = options.get_run_config_entry(key)
        except RuntimeError:  # it has none
            continue
    return found
