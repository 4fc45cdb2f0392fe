"""How a caller says which query matters more: by priority, then by when it is due."""

from __future__ import annotations

import operator
from typing import NamedTuple

from surplus.engine import _core
from surplus.engine.errors import ConfigError, InputError

PRIORITIES = range(-(2**31), 2**31)
_DEADLINES_NS = range(2**63)
_LONGEST_S = 1e6
ON_LATE = ("serve", "reject")
"""What becomes of a query that cannot be in time."""
WEIGHTS = (0.01, 100.0)
"""The least and the most that one model's share may weigh."""


class Urgency(NamedTuple):
    """What the queries of a model are, unless one says otherwise.

    Parameters
    ----------
    due_after_ns : int
        From submission on; 0: they are not due. A query that comes late is answered all the same,
        but behind those that may still be in time.
    priority : int
        The higher goes first.
    best_effort : bool
        Behind all that is not, whatever its priority.
    refuses_late : bool
        Whether a query that cannot be in time, as predicted, is refused at once, and one that was
        admitted is ended when it cannot any more.
    max_wait_ns : int
        Queries that are not due are refused where they would wait for longer; 0: never.
    weight : float
        Models share the lanes by weight, among queries of one priority that are not due.
    """

    due_after_ns: int = 0
    priority: int = 0
    best_effort: bool = False
    refuses_late: bool = False
    max_wait_ns: int = 0
    weight: float = 1.0

    @property
    def may_make_way(self) -> bool:
        """Whether it says how queries stand to those of other models."""
        return self.best_effort or self.due_after_ns != 0

    @staticmethod
    def asked(deadline_s: float | None, priority: int, best_effort: bool) -> Urgency:
        """As a user says it.

        Raises
        ------
        ConfigError
            If the deadline or the priority is out of range, or what is best effort has a deadline.
        """
        if priority not in PRIORITIES:
            bounds = f"{PRIORITIES.start} to {PRIORITIES.stop - 1}"
            raise ConfigError(f"priority must be {bounds}, got {priority}")
        if deadline_s is None:
            return Urgency(0, priority, best_effort)
        if not 0 < deadline_s <= _LONGEST_S:
            raise ConfigError(
                f"deadline_s must be above 0, at most {_LONGEST_S:g}, got {deadline_s}"
            )
        if best_effort:
            raise ConfigError("what is best effort is not due: give deadline_s or best_effort")
        return Urgency(round(deadline_s * 1e9), priority)

    def of(self, native: _core.Plan) -> None:
        """Let runs of a plan that begin from now on be so."""
        native.be_urgent(self.due_after_ns, self.priority, self.best_effort)
        native.admit_by(self.refuses_late, self.max_wait_ns)
        native.weigh(self.weight)

    def admitting(self, on_late: str, max_wait_s: float, weight: float) -> Urgency:
        """The same, with what is refused, and the model's share, as a user says it.

        Raises
        ------
        ConfigError
            If one of them is out of range.
        """
        if on_late not in ON_LATE:
            raise ConfigError(f"on_late must be one of {', '.join(ON_LATE)}, got {on_late!r}")
        if not 0 <= max_wait_s <= _LONGEST_S:
            raise ConfigError(f"max_wait_s must be 0 to {_LONGEST_S:g}, got {max_wait_s}")
        least, most = WEIGHTS
        if not least <= weight <= most:
            raise ConfigError(f"weight must be {least:g} to {most:g}, got {weight}")
        return self._replace(
            refuses_late=on_late == "reject",
            max_wait_ns=round(max_wait_s * 1e9),
            weight=weight,
        )

    def shortfall(self, takes_ns: int) -> str:
        """That a model which takes so long by itself cannot be in time, and by how much."""
        if not 0 < self.due_after_ns < takes_ns:
            return ""
        due_ms, takes_ms = self.due_after_ns / 1e6, takes_ns / 1e6
        return (
            f"queries are due {due_ms:g} ms after they came, and one alone takes {takes_ms:.3g} ms,"
            f" {takes_ms - due_ms:.3g} ms more"
        )


def check_urgency(priority: int, deadline_ns: int, due_ns: int = 0) -> None:
    """Refuse what the core cannot hold.

    Raises
    ------
    InputError
        Naming the bounds.
    """
    _check("priority", priority, PRIORITIES)
    _check("deadline_ns", deadline_ns, _DEADLINES_NS)
    _check("due_ns", due_ns, _DEADLINES_NS)


def _check(name: str, value: int, bounds: range) -> None:
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"{name} must be an integer, got {value!r}") from None
    if number not in bounds:
        raise InputError(f"{name} must be {bounds.start} to {bounds.stop - 1}, got {value}")
