"""Long tables, stored a column a line: keys and values that come again are written once.

A column is the list of its values; or, where that is shorter, ``{"values": [...], "at": [...]}``
with each different value once and the place of each row's; or ``{"columns": {...}}``, where each
row has a mapping with the same keys.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

Columns = dict[str, Any]
"""By name, in the order of the rows' keys."""


def to_columns(rows: Sequence[Mapping[str, Any]]) -> Columns | None:
    """Rows as columns; None where keys or their order differ, or there are none."""
    if len({tuple(row) for row in rows}) != 1 or not rows[0]:
        return None
    return {key: _column([row[key] for row in rows]) for key in rows[0]}


def to_rows(columns: Columns) -> list[dict[str, Any]]:
    """The rows that ``to_columns`` was given.

    Raises
    ------
    ValueError
        If columns differ in length.
    """
    values = [_values(column) for column in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]


def text(value: Any) -> str:
    """JSON without spaces."""
    return json.dumps(value, separators=(",", ":"))


def _column(values: list[Any]) -> Any:
    if all(isinstance(value, Mapping) for value in values) and (inner := to_columns(values)):
        return {"columns": inner}
    texts = [text(value) for value in values]  # 1 and 1.0 differ
    places = {one: place for place, one in enumerate(dict.fromkeys(texts))}
    once = {"values": [json.loads(one) for one in places], "at": [places[one] for one in texts]}
    return min(values, once, key=lambda column: len(text(column)))


def _values(column: Any) -> list[Any]:
    if isinstance(column, list):
        return column
    if "columns" in column:
        return to_rows(column["columns"])
    return [column["values"][place] for place in column["at"]]
