"""Times of one query as a caller says them, in seconds from now, and as the core takes them."""

from __future__ import annotations

import math
import numbers
import time
import warnings
from typing import Any, TypedDict

from surplus.engine.errors import InputError
from surplus.engine.runtime.urgency import check_urgency

_LONGEST_S = 1e9


class Said(TypedDict):
    """What a query says of its urgency, in the core's words."""

    deadline_ns: int
    priority: int | None
    due_ns: int
    best_effort: bool | None


class QueryOptions(TypedDict, total=False):
    """The keywords of queries; ``Model`` says what each means."""

    timeout_s: float | None
    deadline_s: float | None
    deadline_ns: int | None
    due_s: float | None
    priority: int | None
    best_effort: bool | None
    traced: bool


class OldQueryOptions(TypedDict, total=False):
    """Keywords of queries that have other names now."""

    timeout: float | None
    due_ns: int


def seconds(name: str, value: Any) -> float:
    """A time from now that a caller gave.

    Raises
    ------
    InputError
        If it is no number, negative, or longer than anything lasts.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InputError(f"{name} must be a number of seconds, got {value!r}")
    number = float(value)
    if math.isnan(number) or not 0 <= number <= _LONGEST_S:
        raise InputError(f"{name} must be 0 to {_LONGEST_S:g} seconds, got {value!r}")
    return number


def said(
    timeout_s: float | None,
    deadline_s: float | None,
    deadline_ns: int | None,
    due_s: float | None,
    priority: int | None,
    best_effort: bool | None,
    old: OldQueryOptions,
) -> Said:
    """What a query says, its times as moments of ``time.monotonic_ns``.

    Raises
    ------
    InputError
        If a value is out of range, or a deadline is said twice.
    """
    due_ns = 0
    if old:
        timeout_s, due_ns = _renamed(timeout_s, old)
    now_ns = time.monotonic_ns()
    if deadline_s is not None:
        if deadline_ns:
            raise InputError("a query has one deadline: deadline_s or deadline_ns")
        deadline_ns = now_ns + round(seconds("deadline_s", deadline_s) * 1e9)
    check_urgency(priority or 0, deadline_ns or 0, due_ns)
    due_ns = due_ns or deadline_ns or 0
    if due_s is not None:
        due_ns = now_ns + round(seconds("due_s", due_s) * 1e9)
    end_ns = deadline_ns or 0
    if timeout_s is not None:
        over_ns = now_ns + round(seconds("timeout_s", timeout_s) * 1e9)
        end_ns = min(end_ns or over_ns, over_ns)
    if best_effort is not None and not isinstance(best_effort, bool):
        raise InputError(f"best_effort must be True or False, got {best_effort!r}")
    return Said(deadline_ns=end_ns, priority=priority, due_ns=due_ns, best_effort=best_effort)


def _renamed(timeout_s: float | None, old: OldQueryOptions) -> tuple[float | None, int]:
    """What old keywords stand for; others are nobody's.

    Raises
    ------
    TypeError
        Naming the keyword that is none.
    """
    for name in old:
        if name not in OldQueryOptions.__annotations__:
            known = ", ".join(("outputs", *QueryOptions.__annotations__))
            raise TypeError(f"a query has no option {name!r}; it has: {known}")
        new = "timeout_s" if name == "timeout" else "due_s, in seconds from now"
        warnings.warn(f"{name} is called {new}", DeprecationWarning, stacklevel=4)
    if old.get("timeout") is not None:
        timeout_s = old["timeout"]
    return timeout_s, old.get("due_ns", 0)
