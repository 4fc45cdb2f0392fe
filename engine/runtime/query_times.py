"""Options of one query: in seconds from now as its caller says them, and as the core takes them."""

from __future__ import annotations

import inspect
import math
import numbers
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypedDict, TypeVar

from surplus.engine.errors import InputError
from surplus.engine.runtime.urgency import check_urgency

_LONGEST_S = 1e9


class QueryOptions(TypedDict, total=False):
    """The keywords of queries; ``Model`` says what each means."""

    timeout_s: float | None
    deadline_s: float | None
    deadline_ns: int | None
    due_s: float | None
    priority: int | None
    best_effort: bool | None
    traced: bool


class Said(TypedDict):
    """What a query says of its urgency, in the core's words."""

    deadline_ns: int
    priority: int | None
    due_ns: int
    best_effort: bool | None


_RENAMED = {"timeout": "timeout_s", "due_ns": "due_s, in seconds from now"}
"""Keywords by their names until November 2027, and what they are called now."""

Query = TypeVar("Query", bound=Callable[..., Any])


def takes_query_options(query: Query) -> Query:
    """Have a method's signature name them.

    It takes them by ``**said``, since a query that says nothing would pay for each keyword.
    """
    given = inspect.signature(query)
    kept = [p for p in given.parameters.values() if p.kind is not p.VAR_KEYWORD]
    keyword = inspect.Parameter.KEYWORD_ONLY
    named = [
        inspect.Parameter(name, keyword, default=_default(name), annotation=text.__forward_arg__)
        for name, text in QueryOptions.__annotations__.items()
    ]
    query.__signature__ = given.replace(parameters=[*kept, *named])  # type: ignore[attr-defined]
    return query


def _default(name: str) -> bool | None:
    return False if name == "traced" else None


def checked_options(said: Mapping[str, Any]) -> QueryOptions:
    """What a query says, without names that are none; ``due_ns``, an old one, is left.

    Raises
    ------
    TypeError
        Naming the keyword that is none.
    InputError
        If what must be True or False is neither.
    """
    options = dict(said)
    for name in said:
        if name in QueryOptions.__annotations__:
            continue
        if name not in _RENAMED:
            known = ", ".join(("outputs", *QueryOptions.__annotations__))
            raise TypeError(f"a query has no option {name!r}; it has: {known}")
        warnings.warn(f"{name} is called {_RENAMED[name]}", DeprecationWarning, stacklevel=4)
    if "timeout" in options:
        options["timeout_s"] = options.pop("timeout")
    for name in ("best_effort", "traced"):
        if not isinstance(value := options.get(name), bool | None):
            raise InputError(f"{name} must be True or False, got {value!r}")
    return options  # type: ignore[return-value]


def urgency_of(options: Mapping[str, Any]) -> Said:
    """What a query says of its urgency, its times as moments of ``time.monotonic_ns``.

    Raises
    ------
    InputError
        If a value is out of range, or a deadline is said twice.
    """
    now_ns = time.monotonic_ns()
    deadline_ns = options.get("deadline_ns") or 0
    if options.get("deadline_s") is not None:
        if deadline_ns:
            raise InputError("a query has one deadline: deadline_s or deadline_ns")
        deadline_ns = _moment("deadline_s", options, now_ns)
    priority = options.get("priority")
    due_ns = options.get("due_ns") or _moment("due_s", options, now_ns) or deadline_ns
    check_urgency(0 if priority is None else priority, deadline_ns, due_ns)
    ends_ns = [ns for ns in (deadline_ns, _moment("timeout_s", options, now_ns)) if ns]
    return Said(
        deadline_ns=min(ends_ns, default=0),
        priority=priority,
        due_ns=due_ns,
        best_effort=options.get("best_effort"),
    )


def seconds(name: str, value: Any) -> float | None:
    """A time from now that a caller gave.

    Raises
    ------
    InputError
        If it is no number, negative, or longer than anything lasts.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InputError(f"{name} must be a number of seconds, got {value!r}")
    number = float(value)
    if math.isnan(number) or not 0 <= number <= _LONGEST_S:
        raise InputError(f"{name} must be 0 to {_LONGEST_S:g} seconds, got {value!r}")
    return number


def _moment(name: str, options: Mapping[str, Any], now_ns: int) -> int:
    after_s = seconds(name, options.get(name))
    return 0 if after_s is None else now_ns + round(after_s * 1e9)
