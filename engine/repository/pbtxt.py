"""Reads ``config.pbtxt``: protobuf's text format, by protobuf's own reader."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from google.protobuf import text_format

from surplus.engine.errors import ConfigError
from surplus.engine.repository.config_message import POOL, empty_config
from surplus.engine.repository.field_lines import FieldLines

_TOKEN = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)
      | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
      | (?P<word>[^\s\#"'{}<>\[\]:,;]+)
      | (?P<sign>[{}<>\[\]:,;])""",
    re.VERBOSE,
)

_Token = tuple[str, str, int]
"""Its kind, its text, its line."""


def parse_pbtxt(text: str, file: Path) -> tuple[Any, FieldLines]:
    """The message of a text, and where its fields stand.

    Raises
    ------
    ConfigError
        Naming the file, line, column and what is wrong there.
    """
    message = empty_config()
    try:
        text_format.Parse(text, message, descriptor_pool=POOL)
    except text_format.ParseError as error:
        why = re.sub(r"^\d+:\d+ : ", "", str(error))
        raise ConfigError(f"{file}:{error.GetLine()}:{error.GetColumn()}: {why}") from error
    return message, FieldLines(file, _lines(text, message.DESCRIPTOR))


def _lines(text: str, descriptor: Any) -> dict[str, int]:
    """Of a text that protobuf has read without complaint."""
    found: dict[str, int] = {}
    _walk(iter(list(_tokens(text))), "", descriptor, found)
    return found


def _tokens(text: str) -> Iterator[_Token]:
    line = 1
    for token in _TOKEN.finditer(text):
        if token.lastgroup != "space":
            yield str(token.lastgroup), token.group(), line
        line += token.group().count("\n")


def _walk(tokens: Iterator[_Token], path: str, descriptor: Any, found: dict[str, int]) -> None:
    """Note the fields of a message, whose opening brace has been read, up to its closing one."""
    seen: Counter[str] = Counter()
    name, is_listed = "", False
    for kind, text, line in tokens:
        if kind == "sign" and text in "}>":
            return
        if kind == "sign" and text in "[]":
            is_listed = text == "["
            continue
        known = descriptor.fields_by_name.get(text) if kind == "word" and not is_listed else None
        if known is not None:
            name = text
            found.setdefault(f"{path}{name}", line)
        elif kind == "sign" and text in "{<":
            inner = descriptor.fields_by_name[name]
            here = f"{path}{name}"
            if not inner.has_presence:  # of messages: those that may be repeated
                here = f"{here}[{seen[name]}]"
                seen[name] += 1
                found[here] = line
            _walk(tokens, f"{here}.", inner.message_type, found)
