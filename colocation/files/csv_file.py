"""Reading CSV files, with errors that say where."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

_LONGEST_CELL = 1000


def read_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Each row of a file in UTF-8, with the number of the line on which it ends.

    A byte order mark, as spreadsheets write it, is no part of the first cell.

    Raises
    ------
    ValueError
        If it is no text or a cell is too long; the message says which file, and which line.
    OSError
        If it cannot be read.
    """
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file)
        try:
            for row in reader:
                longest = max(map(len, row), default=0)
                if longest > _LONGEST_CELL:
                    text = f"a cell of {longest} characters; is a quote missing?"
                    raise ValueError(f"{path}, line {reader.line_num}: {text}")
                yield reader.line_num, row
        except (csv.Error, UnicodeDecodeError) as error:
            raise ValueError(f"{path}, line {reader.line_num + 1}: {error}") from error
