"""Queries with an empty dimension run only where a child has survived the like of them.

Some of ONNX Runtime's kernels divide by the size of a dimension, or count it down from 0.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from surplus.engine.errors import InputError
from surplus.engine.native import load_runtime

_LIMIT_S = 60.0
"""An empty query does less than others; what takes that long hangs."""

_MOST_TRIALS = 64
"""A client chooses which dimensions are empty, and each choice costs a process once."""

_FORMAT = 2
"""Counts up when fewer queries end a process."""

Empty = tuple[tuple[str, int], ...]
"""Which inputs are empty, and in which dimension."""


class EmptyInputs:
    """What is known of one model's empty dimensions, by input and axis. Thread-safe.

    Parameters
    ----------
    model : Path
        The ONNX file that a trial runs.
    folder : Path, optional
        The model's own, which keeps what is found out.
    """

    def __init__(self, model: Path, folder: Path | None) -> None:
        self._model = model
        name = f"empty-ort{load_runtime()}-{_FORMAT}.note"
        self._note = None if folder is None else folder / name
        self._lock = threading.Lock()
        self._known: dict[Empty, str] | None = None

    def check(self, contents: Mapping[str, Any], query: Callable[[], Mapping[str, Any]]) -> None:
        """Refuse what is not known to be harmless; the first of its kind is tried, which blocks.

        Parameters
        ----------
        contents : mapping of str to array or list of arrays
            The inputs without elements.
        query : callable
            Makes all inputs, to try them.

        Raises
        ------
        InputError
            Naming the input that is empty, and what became of the trial.
        """
        empty = tuple(_empty(contents))
        with self._lock:
            reason = self._reason(empty, query)
        if reason:
            name, axis = empty[0]
            raise InputError(
                f"input {name!r}: dimension {axis} is empty, which this model does not survive:"
                f" {reason}"
            )

    def _reason(self, empty: Empty, query: Callable[[], Mapping[str, Any]]) -> str:
        if self._known is None:
            self._known = {} if self._note is None else _read(self._note)
        if empty not in self._known:
            if len(self._known) >= _MOST_TRIALS:
                return f"it was not tried, after {_MOST_TRIALS} others"
            self._known[empty] = _tried(self._model, query())
            if self._note is not None:
                _write(self._note, self._known)
        return self._known[empty]


def _read(note: Path) -> dict[Empty, str]:
    from surplus.engine.cache.notes import read_note

    rows = read_note(note) or []
    return {tuple((name, axis) for name, axis in pairs): reason for pairs, reason in rows}


def _write(note: Path, known: dict[Empty, str]) -> None:
    from surplus.engine.cache.notes import write_note

    with suppress(OSError):  # a cache that cannot be written costs trials
        write_note(note, [[pairs, reason] for pairs, reason in known.items()])


def _empty(contents: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    for name in sorted(contents):
        content = contents[name]
        for array in content if isinstance(content, list | tuple) else (content,):
            shape = getattr(array, "shape", ())
            yield from ((name, axis) for axis, size in enumerate(shape) if size == 0)


def _tried(model: Path, inputs: Mapping[str, Any]) -> str:
    """Why the query is not harmless; empty if it is."""
    from surplus.engine.trial.trial import Trial, TrialParams  # subprocess and all

    verdict = Trial(model, inputs, TrialParams(limit_s=_LIMIT_S)).verdict()
    return "" if verdict.is_harmless else verdict.text
