"""Where tables are printed."""

from __future__ import annotations

import sys

from rich.console import Console

from surplus.engine.cli.terminal import raw_stream


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to the command, for which ``| head`` is no failure; rich exits with 1."""
        raise BrokenPipeError


def stdout_console(columns: int) -> Console:
    """Standard output, of so many columns where it is no terminal."""
    return _Console(file=raw_stream(sys.stdout), width=None if sys.stdout.isatty() else columns)
