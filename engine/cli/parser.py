"""The argument parser of every verb: help with an example, wrong usage in one line."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NoReturn

Run = Callable[[argparse.Namespace], int]


class Parser(argparse.ArgumentParser):
    """An ``ArgumentParser`` that says in one line what is wrong, and exits with 2."""

    def error(self, message: str) -> NoReturn:
        """Name the problem and where help is."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def add_verb(verbs: Any, name: str, summary: str, example: str, run: Run) -> Parser:
    """Register a verb.

    Parameters
    ----------
    verbs : argparse's sub-parsers
        Where to.
    summary : str
        What the verb does, without a full stop; shown in the list of verbs, too.
    example : str
        Command lines, one a line.
    run : callable
        Does it, and returns the exit status.
    """
    lines = "\n".join(f"  {line}" for line in example.strip().splitlines())
    parser: Parser = verbs.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=f"example:\n{lines}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser
