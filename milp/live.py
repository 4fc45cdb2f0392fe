"""Progress of a search on a terminal: one line that changes; in a file, a line now and then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from surplus.milp.params import Listener, Progress

NS_PER_US = 1_000

_LINE_S = 1.0
"""How often there is a new line where lines stay."""


@contextmanager
def live(stream: TextIO, *, lines: bool = True, what: str = "plan") -> Iterator[Listener]:
    """Yield a listener that shows progress on a stream, the last one in any case.

    Parameters
    ----------
    what : str
        What is minimised.
    lines : bool
        Whether anything is shown where the stream is no terminal.
    """
    if not stream.isatty() and not lines:
        yield lambda progress: None
        return
    shown = _Terminal(stream, what) if stream.isatty() else _Lines(stream, what)
    try:
        yield shown.show
    finally:
        shown.close()


def progress_line(progress: Progress, what: str = "plan") -> str:
    """Time, plan, bound and gap."""
    best = "-" if progress.makespan_ns is None else f"{progress.makespan_ns / NS_PER_US:.1f} us"
    gap = "-" if progress.gap is None else f"{progress.gap:.3%}"
    bound = f"{progress.bound_ns / NS_PER_US:.1f} us"
    return f"{progress.elapsed_s:7.1f} s  {what} {best}  bound {bound}  gap {gap}"


class _Terminal:
    def __init__(self, stream: TextIO, what: str) -> None:
        self._stream, self._what = stream, what
        self._is_empty = True

    def show(self, progress: Progress) -> None:
        self._stream.write(f"\r\x1b[K{progress_line(progress, self._what)}")
        self._stream.flush()
        self._is_empty = False

    def close(self) -> None:
        if not self._is_empty:
            self._stream.write("\n")


class _Lines:
    def __init__(self, stream: TextIO, what: str) -> None:
        self._stream, self._what = stream, what
        self._next_s = 0.0
        self._left: Progress | None = None

    def show(self, progress: Progress) -> None:
        self._left = progress
        if progress.elapsed_s >= self._next_s:
            self._next_s = progress.elapsed_s + _LINE_S
            self._write()

    def close(self) -> None:
        self._write()

    def _write(self) -> None:
        if self._left is not None:
            self._stream.write(progress_line(self._left, self._what) + "\n")
            self._stream.flush()
            self._left = None
