"""Rows of a CSV or JSON Lines file, with errors that say where."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


class FileRow:
    """A row of a file: what its fields are, or an error that names file, line and field."""

    def __init__(self, path: Path, line: int, fields: Mapping[str, Any]) -> None:
        self._where = f"{path}, line {line}"
        self._fields = {key: value for key, value in fields.items() if value not in (None, "")}

    def number(self, name: str) -> float | None:
        """A finite number; None where the field is empty or missing."""
        if name not in self._fields:
            return None
        value = self._fields[name]
        try:
            number = float("nan") if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            number = float("nan")
        if not abs(number) < float("inf"):
            raise self.error(f"{name}: {value!r} is not a number")
        return number

    def text(self, name: str) -> str:
        """As it is written; empty where the field is missing."""
        return str(self._fields.get(name, ""))

    def error(self, what: str) -> ValueError:
        """Says where."""
        return ValueError(f"{self._where}: {what}")


def read_rows(path: Path, known: frozenset[str]) -> Iterator[FileRow]:
    """Read ``.jsonl`` as an object a line, anything else as CSV with a header.

    Parameters
    ----------
    path : Path
        In UTF-8; a byte order mark is no part of the first cell.
    known : frozenset of str
        The fields that a file may have.

    Raises
    ------
    ValueError
        If it is of another format or has further fields; the message says where.
    OSError
        If it cannot be read.
    """
    read = _json_rows if path.suffix in (".jsonl", ".ndjson") else _csv_rows
    with path.open(newline="", encoding="utf-8-sig") as file:
        try:
            for line, fields in read(path, file):
                row = FileRow(path, line, fields)
                if unknown := sorted(set(fields) - known):
                    said = f"unknown field {unknown[0]!r}; there are: {', '.join(sorted(known))}"
                    raise row.error(said)
                yield row
        except UnicodeDecodeError as error:
            raise ValueError(f"{path}: not text in UTF-8: {error}") from error


def read_numbers(path: Path, column: str) -> list[float]:
    """One column of numbers, each of which must be there.

    Raises
    ------
    ValueError, OSError
        As ``read_rows``.
    """
    numbers = []
    for row in read_rows(path, frozenset({column})):
        number = row.number(column)
        if number is None:
            raise row.error(f"{column}: there is no number")
        numbers.append(number)
    return numbers


def _csv_rows(path: Path, file: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
    reader = csv.reader(file, strict=True)
    header: list[str] = []
    try:
        for cells in reader:
            if not cells:
                continue
            if not header:
                header = [name.strip() for name in cells]
                continue
            if len(cells) > len(header):
                said = f"{len(cells)} cells under {len(header)} names"
                raise ValueError(f"{path}, line {reader.line_num}: {said}")
            named = zip(header, (cell.strip() for cell in cells), strict=False)
            yield reader.line_num, dict(named)
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num}: {error}") from error


def _json_rows(path: Path, file: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for line, text in enumerate(file, 1):
        if not text.strip():
            continue
        try:
            fields = json.loads(text)
        except ValueError as error:
            raise ValueError(f"{path}, line {line}: {error}") from error
        if not isinstance(fields, dict):
            raise ValueError(f"{path}, line {line}: not an object")
        yield line, fields
