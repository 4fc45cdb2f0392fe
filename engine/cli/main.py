"""The ``engine`` command: one verb a file, errors as one clear line."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from surplus.engine.cli.parser import Parser
from surplus.engine.cli.terminal import log_to_stderr, printable_streams
from surplus.engine.errors import EngineError, one_line
from surplus.engine.version import version

VERBS = (
    "devices",
    "inspect",
    "profile",
    "place",
    "optimum",
    "study",
    "run",
    "serve",
    "route",
    "deploy",
    "top",
    "token",
    "health",
    "trace",
    "adopt",
    "models",
    "convert",
    "tune",
    "plans",
    "memory",
    "cache",
    "simulate",
    "capacity",
    "colocate",
)
"""Each a module of that name."""

_INTERNAL_ERROR = 70
"""EX_SOFTWARE of sysexits.h."""


def main(argv: Sequence[str] | None = None) -> int:
    """Parse, run one verb, and turn every failure into a line and a status.

    Returns
    -------
    int
        0 for success, 1 for a failure that was explained, 70 for one that we did not foresee,
        130 after Ctrl-C; wrong usage exits with 2.
    """
    with printable_streams():
        return _main(argv)


def _add_operators(args: argparse.Namespace) -> None:
    """Have all that the verb reads or loads know --custom-operators, if it has them."""
    if asked := getattr(args, "custom_operators", ()):
        from surplus.engine.custom_operators import add_custom_operators

        add_custom_operators(asked)


def _main(argv: Sequence[str] | None) -> int:
    words = sys.argv[1:] if argv is None else list(argv)
    args = _parser(words).parse_args(words)
    log_to_stderr(logging.INFO if args.verbose else logging.WARNING)
    try:
        _add_operators(args)
        status: int = args.run(args)
        sys.stdout.flush()
    except BrokenPipeError:
        return _closed_pipe()
    except (EngineError, ValueError, OSError) as error:
        return _fail(args.verb, _line(error), 1)
    except MemoryError:
        return _fail(args.verb, "not enough memory", 1)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if args.verbose:
            raise
        text = f"internal error: {type(error).__name__}: {_line(error)}"
        return _fail(args.verb, f"{text} (engine -v {args.verb} shows where)", _INTERNAL_ERROR)
    return status


def _parser(words: Sequence[str] = ()) -> Parser:
    """Of the verb that these words ask for, else of all: the others take long to import."""
    parser = Parser(
        prog="engine",
        description="Run ONNX models on every processor of this machine at once.",
        epilog="engine VERB --help explains each; start with: engine run MODEL --compare",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="log what is done to stderr")
    parser.add_argument("--version", action=_ShowVersion, help="show the version and exit")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name in _asked(words):
        import_module(f"surplus.engine.cli.{name}").add_parser(verbs)
    return parser


def _asked(words: Sequence[str]) -> tuple[str, ...]:
    verb = next((word for word in words if word not in ("-v", "--verbose")), "")
    return (verb,) if verb in VERBS else VERBS


class _ShowVersion(argparse.Action):
    """As argparse's own, but asks for the version only when it is wanted."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(f"{parser.prog} {version()}")
        parser.exit()


def _fail(verb: str, message: str, status: int) -> int:
    from surplus.engine.serving.say import say  # which knows whether the log is JSON

    say(f"engine {verb}: {message}", logging.ERROR)
    return status


def _line(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return one_line(error)


def _closed_pipe() -> int:
    """The reader of our output went away (``| head``): not an error of ours."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main())
