"""Reads ``config.toml``: the fields of ``config.pbtxt`` under the same names, as TOML."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from surplus.engine.errors import ConfigError
from surplus.engine.repository.config_message import empty_config
from surplus.engine.repository.field_lines import FieldLines

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\]]+?)\s*\]")
_KEY = re.compile(r"""\s*([\w."'-]+(?:\s*\.\s*[\w."'-]+)*)\s*=""")


def parse_toml(text: str, file: Path) -> tuple[Any, FieldLines]:
    """The message of a text, and where its fields stand.

    Raises
    ------
    ConfigError
        Naming the file, the line and the field.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        place = f":{found[1]}:{found[2]}" if found else f":{text.count(chr(10)) + 1}"
        raise ConfigError(f"{file}{place}: no TOML: {error}") from error
    lines = FieldLines(file, _lines(text))
    message = empty_config()
    _fill(message, document, "", lines)
    return message, lines


def _fill(message: Any, table: Mapping[str, Any], path: str, lines: FieldLines) -> None:
    """Set the fields of a message."""
    for name, value in table.items():
        here = f"{path}{name}"
        field = message.DESCRIPTOR.fields_by_name.get(name)
        if field is None:
            known = ", ".join(message.DESCRIPTOR.fields_by_name)
            raise lines.wrong(here, f"there is no such field; known: {known}")
        _require_only_choice(message, field, here, lines)
        try:
            _set(message, field, value, here, lines)
        except (TypeError, ValueError) as error:
            if isinstance(error, ConfigError):
                raise
            raise lines.wrong(here, str(error)) from error


def _set(message: Any, field: Any, value: Any, here: str, lines: FieldLines) -> None:
    inner, target = field.message_type, getattr(message, field.name)
    if inner is not None and inner.GetOptions().map_entry:
        _set_map(target, inner, value, here, lines)
    elif hasattr(target, "extend"):
        if not isinstance(value, list):
            raise lines.wrong(here, "expected an array")
        for index, item in enumerate(value):
            at = f"{here}[{index}]"
            if inner is not None:
                _fill(target.add(), _table(item, at, lines), f"{at}.", lines)
            else:
                target.append(_scalar(field, item, at, lines))
    elif inner is not None:
        target.SetInParent()
        _fill(target, _table(value, here, lines), f"{here}.", lines)
    else:
        setattr(message, field.name, _scalar(field, value, here, lines))


def _set_map(target: Any, entry: Any, value: Any, here: str, lines: FieldLines) -> None:
    key_field, value_field = entry.fields_by_name["key"], entry.fields_by_name["value"]
    is_number = key_field.cpp_type != key_field.CPPTYPE_STRING
    for key, item in _table(value, here, lines).items():
        at = f"{here}.{key}"
        if is_number and not (key.isascii() and key.isdigit()):
            raise lines.wrong(at, "expected a number as the key")
        place = int(key) if is_number else key
        if value_field.message_type is not None:
            _fill(target[place], _table(item, at, lines), f"{at}.", lines)
        else:
            target[place] = _scalar(value_field, item, at, lines)


def _scalar(field: Any, value: Any, here: str, lines: FieldLines) -> Any:
    """A value as protobuf takes it; enums by name or number."""
    if isinstance(value, bool) != (field.cpp_type == field.CPPTYPE_BOOL):
        wanted = "true or false" if field.cpp_type == field.CPPTYPE_BOOL else "no truth value"
        raise lines.wrong(here, f"is {value!r}, expected {wanted}")
    if field.enum_type is None or isinstance(value, int):
        return value
    known = field.enum_type.values_by_name
    if value not in known:
        raise lines.wrong(here, f"is {value!r}, expected one of {', '.join(known)}")
    return known[value].number


def _table(value: Any, here: str, lines: FieldLines) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise lines.wrong(here, f"is {value!r}, expected a table")
    return value


def _require_only_choice(message: Any, field: Any, here: str, lines: FieldLines) -> None:
    """Refuse a second one of fields of which there can only be one."""
    choice = field.containing_oneof
    other = None if choice is None else message.WhichOneof(choice.name)
    if other is not None and other != field.name:
        raise lines.wrong(here, f"cannot stand beside {other}")


def _lines(text: str) -> dict[str, int]:
    """Where keys stand; what is within braces stands where its own key does."""
    found: dict[str, int] = {}
    counts: Counter[str] = Counter()
    prefix = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            prefix = _numbered(_plain(header[2]), counts)
            if header[1] == "[[":
                found.setdefault(prefix, number)
                prefix = f"{prefix}[{counts[prefix]}]"
                counts[prefix.rpartition("[")[0]] += 1
            found.setdefault(prefix, number)
            prefix += "."
        elif key := _KEY.match(line):
            found.setdefault(f"{prefix}{_plain(key[1])}", number)
    return found


def _numbered(path: str, counts: Counter[str]) -> str:
    """The path of a header whose outer parts may be tables of an array: of each the newest."""
    *outer, last = path.split(".")
    whole = ""
    for part in outer:
        whole += part
        if counts[whole]:
            whole += f"[{counts[whole] - 1}]"
        whole += "."
    return whole + last


def _plain(name: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in name.split("."))
