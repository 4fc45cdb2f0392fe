"""Triton's trace settings: which queries become spans of OpenTelemetry, while a server runs.

What a server writes no spans of stays off, as Triton has it where nothing is traced; what it knows
of queries it draws when asked all the same (traced_queries.py, tails.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock

from surplus.engine.errors import InputError, UnsupportedError

LISTS = frozenset({"trace_level"})
"""Settings that have several values."""

_ON, _OFF = "TIMESTAMPS", "OFF"
_ENDLESS = -1
_MOST = 2**31 - 1
_FIXED = {"log_frequency": "0", "trace_file": ""}
_WHY_FIXED = {
    "log_frequency": "spans are sent as they come",
    "trace_file": "clients do not choose files of this server; spans go to --otlp's URL",
    "trace_mode": "it is chosen at the start: engine serve --otlp URL is opentelemetry",
}
_NOT_HERE = (
    "this server writes no traces: engine serve --otlp URL sends spans to a collector; GET"
    " /v2/surplus/trace draws a query, /v2/surplus/late those that came late"
)


@dataclass(frozen=True)
class _Chosen:
    """What can be set; ``left`` is how many more spans are sent, -1 for any number."""

    is_on: bool = False
    every: int = 1000
    left: int = _ENDLESS


class TraceSettings:
    """What of one server's queries is traced, as its clients see and set it. Thread-safe.

    Parameters
    ----------
    every : int, optional
        One query of so many becomes a span, at the start; 0: only those of recorded traces. None:
        there are no spans.

    Attributes
    ----------
    on_change : callable
        Called after a setting has changed, by who has changed it.
    """

    def __init__(self, every: int | None = None) -> None:
        self._has_spans = every is not None
        self._first = _Chosen() if every is None else _Chosen(is_on=True, every=every)
        self._now = self._first
        self._lock = Lock()  # of _now: spans are counted by another thread
        self.on_change: Callable[[], None] = lambda: None

    @property
    def is_on(self) -> bool:
        """Whether any further query becomes a span."""
        now = self._now
        return now.is_on and now.left != 0

    @property
    def every(self) -> int:
        """One query of so many is one, besides those of recorded traces; 0: none is."""
        return self._now.every

    def take(self, wanted: int) -> int:
        """How many of so many become spans, which are counted."""
        with self._lock:
            now = self._now
            if not now.is_on:
                return 0
            if now.left == _ENDLESS:
                return wanted
            taken = min(wanted, now.left)
            self._now = replace(now, left=now.left - taken)
            return taken

    def values(self) -> dict[str, tuple[str, ...]]:
        """Every setting by name."""
        return _values(self._now, has_spans=self._has_spans)

    def update(self, asked: Mapping[str, Sequence[str]], model: str = "") -> None:
        """Change those that are named, or none of them; no value is that of the start.

        Parameters
        ----------
        model : str
            Of which alone they are to be changed.

        Raises
        ------
        InputError
            If there is no setting of that name, or the value is none of it.
        UnsupportedError
            If it cannot be changed.
        """
        first = _values(self._first, has_spans=self._has_spans)
        for name in asked:
            if name not in first:
                raise InputError(f"unknown trace setting {name!r}; there are {', '.join(first)}")
        with self._lock:
            now = _values(self._now, has_spans=self._has_spans)
            wanted = {name: tuple(values) or first[name] for name, values in asked.items()}
            changes = {name: values for name, values in wanted.items() if values != now[name]}
            for name, values in changes.items():
                self._check(name, values, model)
            chosen = self._now
            for name, values in changes.items():
                chosen = _chosen(chosen, name, values, first[name])
            self._now = chosen
        if changes:
            self.on_change()

    def _check(self, name: str, values: Sequence[str], model: str) -> None:
        why = _WHY_FIXED.get(name, "")
        if not self._has_spans:
            why = _NOT_HERE
        elif model:
            why = f"model {model!r} has no trace settings of its own: they are the server's"
        if why:
            raise _cannot(name, values, why)


def _values(chosen: _Chosen, *, has_spans: bool) -> dict[str, tuple[str, ...]]:
    return {
        "trace_level": (_ON if chosen.is_on else _OFF,),
        "trace_rate": (str(chosen.every),),
        "trace_count": (str(chosen.left),),
        **{name: (value,) for name, value in _FIXED.items()},
        "trace_mode": ("opentelemetry" if has_spans else "triton",),
    }


def _chosen(before: _Chosen, name: str, values: Sequence[str], first: Sequence[str]) -> _Chosen:
    """With another value of one setting; that of the start is one in any case."""
    if name == "trace_level":
        if tuple(values) not in ((_ON,), (_OFF,)):
            raise _cannot(name, values, f"there are {_OFF} and {_ON}; tensors are never told")
        return replace(before, is_on=values[0] == _ON)
    if len(values) != 1:
        raise InputError(f"trace setting {name!r} is one number, not {len(values)}")
    least = _ENDLESS if name == "trace_count" else 1
    try:
        number = int(values[0])
    except ValueError:
        number = least - 1
    if not least <= number <= _MOST and tuple(values) != tuple(first):
        raise InputError(
            f"trace setting {name!r} must be a number from {least} to {_MOST}, got {values[0]!r}"
        )
    return replace(before, left=number) if name == "trace_count" else replace(before, every=number)


def _cannot(name: str, values: Sequence[str], why: str) -> UnsupportedError:
    return UnsupportedError(f"trace setting {name!r} cannot become {', '.join(values)!r}: {why}")
