"""One row per query: when it was meant to go, when it went, when it was done, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

OVERFLOW = "overflow"
"""Kind of a query that was not sent because too many were outstanding."""

_OK = 0
_UNFINISHED = -1
_NEVER = -2


@dataclass(frozen=True)
class Records:
    """The queries of one run, by row, each array of shape ``(queries,)``.

    Parameters
    ----------
    intended_ns, sent_ns, done_ns : int64 arrays
        On one monotonic clock. In a closed loop intended and sent are the same.
    kind : int16 array
        0 where the query succeeded, otherwise 1 + index into ``kinds``.
    kinds : tuple of str
        Kinds of error that occurred, each once.
    measure_from_ns : int
        End of the warm-up.
    messages : tuple of str
        What was said of the first query of each kind; may be empty.
    request : int32 array
        Which of the prepared requests it sent; 0 where there is one, or nobody counts.
    """

    intended_ns: NDArray[np.int64]
    sent_ns: NDArray[np.int64]
    done_ns: NDArray[np.int64]
    kind: NDArray[np.int16]
    kinds: tuple[str, ...]
    measure_from_ns: int
    messages: tuple[str, ...] = ()
    request: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))

    def __post_init__(self) -> None:
        if len(self.request) != len(self.intended_ns):
            object.__setattr__(self, "request", np.zeros(len(self.intended_ns), np.int32))

    def __len__(self) -> int:
        return len(self.intended_ns)

    def is_kind(self, kind: str) -> NDArray[np.bool_]:
        """Rows that failed with ``kind``."""
        code = 1 + self.kinds.index(kind) if kind in self.kinds else _NEVER
        return np.equal(self.kind, code)

    def measured(self) -> Records:
        """The rows that were intended at or after the end of the warm-up."""
        return self.where(self.intended_ns >= self.measure_from_ns)

    def where(self, keep: NDArray[np.bool_]) -> Records:
        """Those rows."""
        return replace(
            self,
            intended_ns=self.intended_ns[keep],
            sent_ns=self.sent_ns[keep],
            done_ns=self.done_ns[keep],
            kind=self.kind[keep],
            request=self.request[keep],
        )

    def said(self) -> dict[str, str]:
        """By kind, what was said of its first query, where anything was."""
        return {kind: text for kind, text in zip(self.kinds, self.messages, strict=False) if text}


class Recorder:
    """Collects the rows of one run; not thread-safe.

    Its arrays are allocated ahead and doubled when full, so that a query costs two stores.

    Parameters
    ----------
    capacity : int
        Rows that it begins with.
    turns : sequence of int
        Which request each query sends, over and over.
    """

    def __init__(self, capacity: int = 1 << 16, turns: Sequence[int] = (0,)) -> None:
        self._turns = np.asarray(turns, np.int32)
        self._query = np.zeros(capacity, np.int64)
        self._times = np.zeros((3, capacity), np.int64)
        self._kind = np.full(capacity, _UNFINISHED, np.int16)
        self._kinds: list[str] = []
        self._messages: list[str] = []
        self._measure_from_ns = 0
        self.count = 0
        self.measured_count = 0

    def measure_from(self, when_ns: int) -> None:
        """Set the end of the warm-up; before the first row."""
        self._measure_from_ns = when_ns

    def begin(self, intended_ns: int, sent_ns: int, query: int | None = None) -> int:
        """Add a row for a query that is being sent; returns its number.

        ``query`` is the query's number, where it is not the row's, as others record, too.
        """
        row = self.count
        if row == len(self._kind):
            self._grow()
        self._times[0, row] = intended_ns
        self._times[1, row] = sent_ns
        self._query[row] = row if query is None else query
        self.count += 1
        self.measured_count += intended_ns >= self._measure_from_ns
        return row

    def finish(self, row: int, done_ns: int, kind: str = "", message: str = "") -> None:
        """Close a row; an empty ``kind`` means success. The first message of a kind is kept."""
        self._times[2, row] = done_ns
        self._kind[row] = self._code(kind, message) if kind else _OK

    def records(self) -> Records:
        """Copy of all finished rows."""
        done = np.flatnonzero(self._kind[: self.count] != _UNFINISHED)
        intended, sent, end = self._times[:, done]
        kinds, messages = tuple(self._kinds), tuple(self._messages)
        times = (intended, sent, end)
        request = self._turns[self._query[done] % len(self._turns)]
        return Records(*times, self._kind[done], kinds, self._measure_from_ns, messages, request)

    def _code(self, kind: str, message: str) -> int:
        if kind not in self._kinds:
            self._kinds.append(kind)
            self._messages.append(message)
        return 1 + self._kinds.index(kind)

    def _grow(self) -> None:
        self._times = np.concatenate([self._times, np.zeros_like(self._times)], axis=1)
        self._kind = np.concatenate([self._kind, np.full_like(self._kind, _UNFINISHED)])
        self._query = np.concatenate([self._query, np.zeros_like(self._query)])


def merge(parts: Sequence[Records]) -> Records:
    """Join the rows of several recorders of one run, by intended time."""
    kinds = tuple(dict.fromkeys(kind for part in parts for kind in part.kinds))
    said = {kind: text for part in reversed(parts) for kind, text in part.said().items()}
    codes = [_recoded(part, kinds) for part in parts]
    intended = np.concatenate([part.intended_ns for part in parts])
    order = np.argsort(intended, kind="stable")
    return Records(
        intended[order],
        np.concatenate([part.sent_ns for part in parts])[order],
        np.concatenate([part.done_ns for part in parts])[order],
        np.concatenate(codes)[order],
        kinds,
        parts[0].measure_from_ns,
        tuple(said.get(kind, "") for kind in kinds),
        np.concatenate([part.request for part in parts])[order],
    )


def _recoded(part: Records, kinds: tuple[str, ...]) -> NDArray[np.int16]:
    table = np.array([_OK, *(1 + kinds.index(kind) for kind in part.kinds)], np.int16)
    return table[part.kind]
