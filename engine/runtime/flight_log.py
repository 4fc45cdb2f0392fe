"""The recorders of the process's machines, read: ``surplus.top`` and ``surplus.late``."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from surplus.engine import _core
from surplus.engine.devices.machines import open_machines
from surplus.engine.errors import ConfigError, UnknownModelError
from surplus.engine.explain.flights import Flights, NodeCard, NodeField, flights_of
from surplus.engine.explain.late_query import LateQuery, late_queries
from surplus.engine.explain.late_summary import LateSummary
from surplus.engine.explain.top import MachineTop, top_of

LONGEST_WINDOW_S = 3_600.0
MOST_LATE = 256
"""Late queries of a model that are explained at a time; each takes a millisecond or less."""

_ASKED_S = 60.0
"""For how long a look has the recorders on."""

_MOST_EXPLAINED = 48
"""Queries that say at each look who they waited for: some 20 ms."""


class _Cards:
    """What plans say of their nodes, asked once a plan."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[NodeCard, ...]] = {}
        self._lock = threading.Lock()

    def of(self, machine: _core.Machine, plans: Sequence[int]) -> dict[int, tuple[NodeCard, ...]]:
        with self._lock:
            for plan in plans:
                if plan not in self._known:
                    self._known[plan] = _cards(machine, plan)
            if len(self._known) > 4 * (len(plans) + 64):
                self._known = {plan: self._known[plan] for plan in plans}
            return dict(self._known)


_CARDS = _Cards()


def record(seconds: float = _ASKED_S) -> None:
    """Have queries recorded for so long from now on, of models that are not due, too."""
    until_ns = time.monotonic_ns() + round(seconds * 1e9)
    for machine in open_machines():
        machine.record_until(until_ns)


def flights(machine: _core.Machine, window_s: float) -> Flights:
    """What a machine recorded of the last seconds, and has it recorded for a while."""
    now_ns = time.monotonic_ns()
    machine.record_until(now_ns + round(_ASKED_S * 1e9))
    since_ns = max(0, now_ns - round(window_s * 1e9))
    devices = [(row["name"], row["lanes"]) for row in machine.stats()["devices"]]
    document = machine.flights(since_ns)
    asked = {row["number"] for row in document["plans"] if len(row["runs"])}
    numbers = sorted(asked.union(document["nodes"][:, NodeField.PLAN].tolist()))
    return flights_of(document, devices, _CARDS.of(machine, numbers), since_ns)


def top(window_s: float = 10.0) -> list[MachineTop]:
    """What the machines of this process did over the last seconds.

    Queries of models that are due are recorded all the time; of others from the first look on,
    for a minute after each.

    Parameters
    ----------
    window_s : float
        Above 0, an hour at most; what is older than the records' memory is left out.

    Raises
    ------
    ConfigError
        If the window is out of range.
    """
    check_window(window_s)
    return [top_of(flights(machine, window_s), _MOST_EXPLAINED) for machine in open_machines()]


def late(model: str = "", window_s: float = 60.0, most: int = MOST_LATE) -> list[LateSummary]:
    """Why queries came late over the last seconds: of one model, or of all that had late ones.

    Parameters
    ----------
    model : str
        What it is called; empty for all.
    window_s : float
        As of ``top``.
    most : int
        Queries of a model that are explained, the last ones.

    Raises
    ------
    ConfigError
        If the window is out of range.
    UnknownModelError
        If no model is called so.
    """
    check_window(window_s)
    all_flights = [flights(machine, window_s) for machine in open_machines()]
    names = sorted({name for found in all_flights for name in found.by_label})
    if model and model not in names:
        known = ", ".join(map(repr, names)) or "none"
        raise UnknownModelError(f"no model is called {model!r}; there are {known}")
    found = [LateSummary.of(name, _late(all_flights, name, most)) for name in names]
    return [s for s in found if s.model == model or (not model and (s.queries or s.unknown))]


def late_queries_on(machine: _core.Machine, model: str, window_s: float) -> list[LateQuery]:
    """Late queries of a model of that machine; raises as ``late``."""
    check_window(window_s)
    return late_queries(flights(machine, window_s), model, MOST_LATE)


def _late(all_flights: Sequence[Flights], name: str, most: int) -> list[LateQuery]:
    return [query for found in all_flights for query in late_queries(found, name, most)]


def check_window(window_s: float) -> None:
    """Refuse what is no window of time.

    Raises
    ------
    ConfigError
        Naming the bounds.
    """
    if not 0 < window_s <= LONGEST_WINDOW_S:
        raise ConfigError(
            f"the window must be above 0, at most {LONGEST_WINDOW_S:g} s, got {window_s}"
        )


def _cards(machine: _core.Machine, plan: int) -> tuple[NodeCard, ...]:
    return tuple(
        NodeCard(
            row["name"],
            row["is_copy"],
            row["executor"],
            row["width"],
            row["service_ns"],
            tuple(row["after"]),
        )
        for row in machine.nodes_of(plan)
    )
