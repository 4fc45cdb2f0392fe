"""A progress bar on stderr, so that stdout stays clean for tables and JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from surplus.engine.cli.terminal import raw_stream
from surplus.engine.planning.progress import ProgressCallback, no_progress
from surplus.engine.printable import printable


@contextmanager
def progress_bar() -> Iterator[ProgressCallback]:
    """Yield a callback ``(stage, done, total)``; draws only where stderr is a terminal."""
    if not raw_stream(sys.stderr).isatty():
        yield no_progress
        return
    from rich.console import Console  # what draws takes longer to import than a model to open
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    console = Console(file=raw_stream(sys.stderr))
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        rows: dict[str, object] = {}

        def report(stage: str, done: int, total: int) -> None:
            if stage not in rows:
                rows[stage] = bar.add_task(printable(stage), total=total)
            bar.update(rows[stage], completed=done, total=total)  # type: ignore[arg-type]

        yield report


def leave_terminal() -> None:
    """Give a terminal its cursor back, for who ends the process under a bar."""
    stream = raw_stream(sys.stderr)
    if stream.isatty():
        from rich.console import Console

        console = Console(file=stream)
        console.show_cursor()
        console.print()
