"""``loadgen``: measure served models."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from surplus.loadgen.errors import BadOptionError, LoadgenError

VERBS = ("run", "capacity", "compare", "plot", "mlperf")
"""Each a module of ``surplus.loadgen.verbs``; without one it is ``run``."""

_USUAL = VERBS[0]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status.

    0 for success, 1 for a failed run, 2 for a bad option, 70 for a failure that we did not
    foresee, 130 after Ctrl-C.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        arguments = _parser(words).parse_args(with_verb(words))
        arguments.words = with_verb(words)[1:]
        status: int = arguments.do(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output went away: not a failure of ours
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except BadOptionError as error:
        return _fail(error, 2)
    except (LoadgenError, OSError) as error:
        return _fail(error, 1)
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except Exception as error:
        return _fail(f"internal error: {type(error).__name__}: {error}", 70)
    return status


def with_verb(words: Sequence[str]) -> list[str]:
    """The words with the verb that they leave out."""
    is_said = words[:1] and (words[0] in VERBS or words[0] in ("-h", "--help"))
    return list(words) if is_said else [_USUAL, *words]


def _parser(words: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Of the verb that these words ask for, else of all."""
    parser = argparse.ArgumentParser("loadgen", description="Measure served models.")
    verbs = parser.add_subparsers(metavar="VERB", required=True)
    asked = with_verb(words)[:1]
    for name in asked if asked[0] in VERBS else VERBS:
        import_module(f"surplus.loadgen.verbs.{name}").add_parser(verbs)
    return parser


def _fail(error: object, status: int) -> int:
    print(f"loadgen: {' '.join(str(error).split())}", file=sys.stderr)
    return status
