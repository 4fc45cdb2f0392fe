"""Options that would be without effect beside the others: who gives them expects something else."""

from __future__ import annotations

import argparse

from surplus.loadgen.arrivals.spec import has_own_rate

_OF_IMAGES = ("image_scaling", "image_input", "image_layout")
_OF_SERVERS = ("protocol", "model_version", "timeout")


def check_options(arguments: argparse.Namespace) -> None:
    """Refuse what contradicts something else.

    Parameters
    ----------
    arguments : Namespace
        Of a verb with a target; options that were not given are None, or empty.

    Raises
    ------
    ValueError
        Naming both.
    """
    given = {name for name, value in vars(arguments).items() if value not in (None, "", [], 0)}
    if "images" not in given and not _tables_have(arguments, "images"):
        _refuse(given, _OF_IMAGES, "is of pictures: give --images")
    if "in_process" in given:
        _refuse(given, _OF_SERVERS, "is of a server, and --in-process asks none")
    else:
        _refuse(given, ("runtime",), "is of models in this process: give --in-process")
    if hasattr(arguments, "mode"):
        _check_mode(arguments.mode, given)
    if hasattr(arguments, "users"):
        _check_loop(arguments, given)


def _check_mode(mode: str, given: set[str]) -> None:
    if mode == "accuracy":
        _refuse(given, ("duration", "count"), "is of performance: accuracy asks each sample once")
        _refuse(given, ("compare",), "is of performance: --expect compares answers")
        _refuse(given, ("shared_memory",), "is of performance: answers are read from what is sent")
    else:
        _refuse(given, ("expect", "answers"), "is of accuracy: give --mode accuracy")


def _check_loop(arguments: argparse.Namespace, given: set[str]) -> None:
    is_open = "rate" in given or (arguments.arrivals and has_own_rate(arguments.arrivals))
    if is_open:
        most, of = arguments.max_outstanding, "--max-outstanding"
    else:
        _refuse(given, ("arrivals", "max_outstanding"), "is of an open loop: give --rate")
        most, of = arguments.users or 1, "--users"
        if "in_process" in given:
            _refuse(given, ("connections",), "is of an open loop here: users are threads")
    for least, name in ((most, of), (arguments.connections, "--connections")):
        if least and 0 < least < arguments.threads:
            raise ValueError(f"--threads {arguments.threads} are more than {name} {least}")


def _tables_have(arguments: argparse.Namespace, key: str) -> bool:
    return any(key in table for table in getattr(arguments, "models", ()))


def _refuse(given: set[str], names: tuple[str, ...], why: str) -> None:
    for name in names:
        if name in given:
            raise ValueError(f"--{name.replace('_', '-')} {why}")
