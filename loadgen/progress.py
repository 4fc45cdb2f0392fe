"""A progress bar on standard error while a load runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple, Protocol

from rich.console import Console
from rich.progress import Progress

from surplus.loadgen.clock import LoadClock
from surplus.loadgen.params import LoadgenParams

_PERIOD_S = 0.25


class Counting(Protocol):
    """What says how far a load is."""

    @property
    def count(self) -> int:
        """Queries so far."""
        ...

    @property
    def measured_count(self) -> int:
        """Those behind the warm-up."""
        ...


class LoadWatcher(NamedTuple):
    """Who watches: a console, and what a load is called there; empty where there is but one."""

    console: Console
    label: str = ""


@asynccontextmanager
async def show_progress(
    load: LoadgenParams, counts: Counting, clock: LoadClock, watcher: LoadWatcher
) -> AsyncIterator[None]:
    """Show how far the load is while the body runs; nothing where no terminal watches."""
    if not watcher.console.is_terminal:
        yield
        return
    # No refresh thread: it would compete with the senders for the interpreter.
    with Progress(console=watcher.console, auto_refresh=False, transient=True) as bar:
        ticker = asyncio.create_task(_tick(bar, load, counts, clock, watcher.label))
        try:
            yield
        finally:
            ticker.cancel()


def fraction(load: LoadgenParams, elapsed_ns: int, count: int) -> float:
    """How much of a load is done: the lesser of time and count, in [0, 1]."""
    time_share = elapsed_ns / max(1, load.warmup_ns + load.min_duration_ns)
    return max(0.0, min(1.0, time_share, count / load.min_count if load.min_count else 1.0))


async def _tick(
    bar: Progress, load: LoadgenParams, counts: Counting, clock: LoadClock, label: str
) -> None:
    start_ns = clock.now_ns()
    task = bar.add_task("", total=1.0)
    while True:
        done = fraction(load, clock.now_ns() - start_ns, counts.measured_count)
        said = f"{label}: " * bool(label) + f"{counts.count:,} queries"
        bar.update(task, completed=done, description=said, refresh=True)
        await asyncio.sleep(_PERIOD_S)
