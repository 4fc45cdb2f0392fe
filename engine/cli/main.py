"""The ``engine`` command: one verb a file, errors as one clear line."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from types import ModuleType

from engine.cli import inspect, models, optimum, place, profile, run, serve
from engine.errors import EngineError

VERBS: tuple[ModuleType, ...] = (inspect, profile, place, optimum, run, serve, models)


def main(argv: Sequence[str] | None = None) -> int:
    """Parse, run one verb, and turn every expected failure into a line and a status.

    Returns
    -------
    int
        0 for success, 1 for a failure that was explained, 130 after Ctrl-C; argparse exits
        with 2 on wrong usage.
    """
    parser = argparse.ArgumentParser(prog="engine", description=__doc__)
    parser.add_argument("-v", "--verbose", action="store_true", help="log what is done")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for module in VERBS:
        module.add_parser(verbs)
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO if args.verbose else logging.WARNING,
        format="%(levelname)s %(name)s: %(message)s",
    )
    try:
        status: int = args.run(args)
    except BrokenPipeError:
        return _closed_pipe()
    except (EngineError, ValueError, OSError) as error:
        print(f"engine {args.verb}: {_one_line(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return status


def _one_line(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


def _closed_pipe() -> int:
    """The reader of our output went away (``| head``): not an error of ours."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main())
