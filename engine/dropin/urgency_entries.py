"""Configuration entries that say how urgent queries are: ``surplus.deadline_ms`` and its like."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from surplus.engine.dropin.statuses import InvalidArgument, status

DEADLINE, PRIORITY, BEST_EFFORT = "surplus.deadline_ms", "surplus.priority", "surplus.best_effort"
KEYS = (DEADLINE, PRIORITY, BEST_EFFORT)

_NAMES = {DEADLINE: "deadline_s", PRIORITY: "priority", BEST_EFFORT: "best_effort"}

_BOOLEANS = {"1": True, "true": True, "0": False, "false": False}
_LONGEST_MS = 1e9


def load_options(entries: Mapping[str, str]) -> dict[str, Any]:
    """The options of ``surplus.load`` that entries of a session stand for.

    Parameters
    ----------
    entries : mapping of str to str
        Those that begin with ``surplus.``.

    Raises
    ------
    InvalidArgument
        Naming the entry that is none, or what is wrong with its value.
    """
    return {_NAMES[_known(key)]: _READ[key](key, entries[key]) for key in entries}


def query_options(entries: Mapping[str, str]) -> dict[str, Any]:
    """The arguments of ``Model.submit`` that entries of a run stand for.

    Raises
    ------
    InvalidArgument
        As ``load_options``; or if what is best effort is due.
    """
    said = load_options(entries)
    options: dict[str, Any] = {
        name: said[name] for name in ("priority", "best_effort") if name in said
    }
    if "deadline_s" in said:
        if said.get("best_effort"):
            raise status(InvalidArgument, f"what is {BEST_EFFORT} is not due: no {DEADLINE}")
        options["due_s"] = said["deadline_s"]
    return options


def _known(key: str) -> str:
    if key not in _READ:
        raise status(InvalidArgument, f"there is no entry {key!r}; there are: {', '.join(KEYS)}")
    return key


def _seconds(key: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number <= _LONGEST_MS:
        raise _wrong(key, text, f"must be above 0, at most {_LONGEST_MS:g}")
    return number / 1e3


def _integer(key: str, text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        raise _wrong(key, text, "must be an integer") from None
    if not -(2**31) <= number < 2**31:
        raise _wrong(key, text, "must be of 32 bits")
    return number


def _boolean(key: str, text: str) -> bool:
    if text.lower() not in _BOOLEANS:
        raise _wrong(key, text, "must be 0 or 1")
    return _BOOLEANS[text.lower()]


def _wrong(key: str, text: str, bound: str) -> Exception:
    return status(InvalidArgument, f"{key} {bound}, got {text!r}")


_READ: dict[str, Callable[[str, str], Any]] = {
    DEADLINE: _seconds,
    PRIORITY: _integer,
    BEST_EFFORT: _boolean,
}
