"""A shape of load as people write it: ``bursty:peak=4,burst_s=0.5``."""

from __future__ import annotations

import inspect
from typing import Any

from surplus.loadgen.arrivals import ARRIVALS, ArrivalProcess


def make_arrivals(text: str, rate_per_s: float | None) -> ArrivalProcess:
    """Make a process from ``NAME`` or ``NAME:KEY=VALUE,...``.

    Parameters
    ----------
    text : str
    rate_per_s : float or None
        Mean rate; None only where the process has one of its own.

    Raises
    ------
    ValueError
        Naming what is unknown, missing or out of range.
    OSError
        If a file that it names cannot be read.
    """
    name, _, rest = text.partition(":")
    if name not in ARRIVALS:
        raise ValueError(f"unknown arrivals {name!r}; there are: {', '.join(ARRIVALS)}")
    known = dict(inspect.signature(ARRIVALS[name]).parameters)
    rate = known.pop("rate_per_s")
    given = dict(_option(text, part, known) for part in rest.split(",") if part)
    if rate_per_s is None and rate.default is inspect.Parameter.empty:
        raise ValueError(f"arrivals {name!r} need a rate")
    return ARRIVALS[name](rate_per_s=rate_per_s, **given)


def has_own_rate(text: str) -> bool:
    """Whether a process needs no rate, as a trace."""
    made = ARRIVALS.get(text.partition(":")[0])
    if made is None:
        return False
    default = inspect.signature(made).parameters["rate_per_s"].default
    return default is not inspect.Parameter.empty


def _option(text: str, part: str, known: dict[str, inspect.Parameter]) -> tuple[str, Any]:
    key, equals, value = part.partition("=")
    if not equals or key not in known:
        allowed = ", ".join(known) or "none"
        raise ValueError(f"arrivals {text!r}: {part!r} is not KEY=VALUE; keys: {allowed}")
    if not isinstance(known[key].default, float):
        return key, value
    try:
        return key, float(value)
    except ValueError:
        raise ValueError(f"arrivals {text!r}: {key} {value!r} is not a number") from None
