"""A scenario file: the options of a command, and tables of models, as TOML or JSON."""

from __future__ import annotations

import argparse
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_TEXT, _NUMBER, _TEXTS = (str,), (int, float), (list,)
_OF_MODEL: dict[str, tuple[type, ...]] = {
    "name": _TEXT,
    "version": _TEXT,
    "weight": _NUMBER,
    "timeout": _TEXT,
    "priority": (int,),
    "inputs": _TEXT,
    "input": _TEXTS,
    "shape": _TEXTS,
    "images": _TEXTS,
    "image_scaling": _TEXT,
    "image_input": _TEXT,
    "image_layout": _TEXT,
}
_LOOPS = ("users", "rate")
"""Who names one on the command line does not want the file's."""

_OWN = ("help", "scenario", "model")
"""Keys that are no options of a file."""


def apply_scenario(
    parser: argparse.ArgumentParser, arguments: argparse.Namespace
) -> argparse.Namespace:
    """The arguments with what their scenario file says; the command line goes before it.

    Parameters
    ----------
    parser : ArgumentParser
        Of the verb, whose options the file may set.
    arguments : Namespace
        As it made them of ``words``; ``scenario`` may be None.

    Raises
    ------
    ValueError
        If the file has another form, or an unknown key; it names file and key.
    OSError
        If it cannot be read.
    """
    path: Path | None = arguments.scenario
    if path is None:
        return arguments
    document = {key.replace("-", "_"): value for key, value in _read(path).items()}
    tables = document.pop("model", [])
    if isinstance(tables, str):
        tables = [{"name": tables}]
    if not isinstance(tables, list) or not all(isinstance(row, dict) for row in tables):
        raise ValueError(f"{path}: model: must be tables, as [[model]]")
    models = [_model_table(path, number, row) for number, row in enumerate(tables, 1)]
    known = {action.dest: action for action in parser._actions if action.option_strings}
    defaults = {}
    for key, value in document.items():
        action = known.get(key)
        if action is None or action.dest in _OWN:
            raise ValueError(f"{path}: unknown key {key!r}")
        defaults[key] = _converted(parser, action, value, f"{path}: {key}")
    if len(document.keys() & set(_LOOPS)) > 1:
        raise ValueError(f"{path}: {' and '.join(_LOOPS)} are two loops; name one")
    if any(getattr(arguments, name, None) is not None for name in _LOOPS):
        defaults = {key: value for key, value in defaults.items() if key not in _LOOPS}
    words: list[str] = arguments.words
    parser.set_defaults(**defaults)
    arguments = parser.parse_args(words)
    arguments.models = [] if arguments.model or arguments.in_process else models
    return arguments


def _converted(
    parser: argparse.ArgumentParser, action: argparse.Action, value: object, where: str
) -> object:
    if isinstance(action, argparse._StoreTrueAction):
        if not isinstance(value, bool):
            raise ValueError(f"{where}: must be true or false, got {value!r}")
        return value
    if isinstance(action, argparse._AppendAction):
        if not isinstance(value, list):
            raise ValueError(f"{where}: must be a list, got {value!r}")
        return [str(item) for item in value]
    if isinstance(value, bool | list | dict):
        raise ValueError(f"{where}: must be one value, got {value!r}")
    try:
        converted = parser._get_value(action, str(value))
        parser._check_value(action, converted)
    except argparse.ArgumentError as error:
        raise ValueError(f"{where}: {error.message}") from None
    return converted


def _read(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
        document = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # of both formats, and of UTF-8
        raise ValueError(f"{path}: {error}") from error
    if not isinstance(document, dict):
        raise ValueError(f"{path}: not an object of options")
    return document


def _model_table(path: Path, number: int, row: Mapping[str, Any]) -> dict[str, Any]:
    where = f"{path}: model {number}"
    table = {}
    for key, value in row.items():
        allowed = _OF_MODEL.get(key.replace("-", "_"))
        if allowed is None:
            raise ValueError(f"{where}: unknown key {key!r}; there are: {', '.join(_OF_MODEL)}")
        if not isinstance(value, allowed) or isinstance(value, bool):
            names = " or ".join(kind.__name__ for kind in allowed)
            raise ValueError(f"{where}: {key}: must be {names}, got {value!r}")
        if isinstance(value, list) and not all(isinstance(item, str) for item in value):
            raise ValueError(f"{where}: {key}: must be texts, got {value!r}")
        table[key.replace("-", "_")] = value
    if not table.get("name"):
        raise ValueError(f"{where}: name: is missing")
    return table
