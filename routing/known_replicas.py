"""Who has which model, as far as a client has found out."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock

from surplus.routing.errors import NoReplicaError, ResolverError
from surplus.routing.resolver import ReplicaAddress, Resolver

_LOG = logging.getLogger(__name__)

_MOST_LOOKS = 16
"""At a time: a resolver may wait with who asks for a model that sleeps."""

Replicas = list[ReplicaAddress]


@dataclass
class _Known:
    replicas: Replicas
    asked_ns: int = 0
    """When the resolver was asked last; 0: never, or what it said is known to be wrong."""
    look: Future[Replicas] | None = None


class KnownReplicas:
    """Asks a resolver again and again while what it says is used. Thread-safe.

    Parameters
    ----------
    resolve_s : float
        How old what the resolver said may be.
    tell : callable
        Called with a model and its replicas, whenever they were found out, by any thread; of one
        model one at a time.
    """

    def __init__(
        self, resolver: Resolver, resolve_s: float, tell: Callable[[str, Replicas], None]
    ) -> None:
        self._resolver = resolver
        self._fresh_ns = round(resolve_s * 1e9)
        self._tell = tell
        self._lock = Lock()
        self._models: dict[str, _Known] = {}
        self._threads = ThreadPoolExecutor(_MOST_LOOKS, "surplus resolver")

    def look_for(self, model: str) -> Future[Replicas] | None:
        """What is to be waited for before the model may be asked; None: it may be at once.

        What is known is used while it is asked for anew. See ``require`` for what comes of it.
        """
        with self._lock:
            known = self._models.setdefault(model, _Known([]))
            is_old = time.monotonic_ns() - known.asked_ns >= self._fresh_ns
            if (is_old or not known.replicas) and known.look is None:
                known.asked_ns = time.monotonic_ns()
                known.look = self._threads.submit(self._look, model, known)
            return None if known.replicas else known.look

    def doubt(self, model: str) -> None:
        """A server was not there, or had not the model: ask again with the next query."""
        with self._lock:
            if (known := self._models.get(model)) is not None:
                known.asked_ns = 0

    def _look(self, model: str, known: _Known) -> Replicas:
        try:
            found = list(self._resolver.replicas(model))
        except ResolverError as error:
            with self._lock:
                known.look = None
            if not known.replicas:
                raise
            _LOG.warning("replicas of %s stay as they were: %s", model, error)
            return known.replicas
        self._tell(model, found)
        with self._lock:
            known.look = None
            known.replicas = found
        return found

    def close(self) -> None:
        """Ask no more."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def require(found: Replicas, model: str) -> None:
    """Of what a look came to.

    Raises
    ------
    NoReplicaError
        If nobody has the model.
    """
    if not found:
        raise NoReplicaError(f"no server is known that has model {model!r}")
