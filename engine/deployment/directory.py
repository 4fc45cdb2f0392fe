"""Which replicas a model has now: what the resolver tells, and who is waited for."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class ListedReplica:
    """A replica that clients are told of.

    Parameters
    ----------
    grpc, http : str
        ``HOST:PORT``.
    load : float
        Queries in flight a lane of its node, when that was last looked at.
    """

    grpc: str
    http: str
    load: float


class Directory:
    """Replicas by model; safe for threads."""

    def __init__(self) -> None:
        self._replicas: dict[str, tuple[ListedReplica, ...]] = {}
        self._waking: set[str] = set()
        self._changed = threading.Condition()
        self.on_wake = threading.Event()

    def publish(self, replicas: Mapping[str, Sequence[ListedReplica]]) -> None:
        """What holds from now on; models without replicas included."""
        with self._changed:
            self._replicas = {name: tuple(own) for name, own in replicas.items()}
            self._waking -= {name for name, own in self._replicas.items() if own}
            self._changed.notify_all()

    def models(self) -> dict[str, tuple[ListedReplica, ...]]:
        """All of them."""
        with self._changed:
            return dict(self._replicas)

    def find(self, name: str, timeout_s: float) -> tuple[ListedReplica, ...] | None:
        """Replicas of a model; if it has none, it is woken, and waited for.

        Returns
        -------
        tuple of ListedReplica or None
            Empty if there are none in time; None if there is no such model.
        """
        with self._changed:
            if name in self._replicas and not self._replicas[name]:
                self._waking.add(name)
                self.on_wake.set()
                self._changed.wait_for(lambda: self._replicas.get(name, True), timeout_s)
            return self._replicas.get(name)

    def waking(self) -> frozenset[str]:
        """Models that somebody waits for."""
        with self._changed:
            self.on_wake.clear()
            return frozenset(self._waking)
