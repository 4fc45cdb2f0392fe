"""Long tables, row by row: a stop loses at most the row that is being measured.

Rows go to ``results/NAME.part.json`` as they come; the same command goes on where it was stopped.
When all rows are there, the file takes the place of ``NAME.json``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.infrastructure import result_file
from bench.infrastructure.progress import counting_bar

Row = dict[str, Any]
Key = tuple[str, ...]

_OF_A_MACHINE = ("processor", "cores", "onnxruntime")
"""What rows of one table must have in common, beside the configuration."""


class Table:
    """The rows of one table, some of them perhaps from an earlier start.

    Parameters
    ----------
    name : str
        File of bench/results without its suffix.
    config : mapping
        What the rows are measured with; an unfinished table of another one is dropped.
    columns : sequence of str
        Those that tell the rows apart.
    anew : bool
        Whether to drop what an earlier start measured.
    """

    def __init__(
        self, name: str, config: Mapping[str, Any], columns: Sequence[str], *, anew: bool = False
    ) -> None:
        self._name = name
        self._config = json.loads(json.dumps(dict(config)))
        self._columns = tuple(columns)
        self._path = result_file.path_of(f"{name}.part")
        self._machine = result_file.machine()
        self._commits: list[str] = []
        self.rows: list[Row] = [] if anew else self._earlier()

    def key_of(self, row: Mapping[str, Any]) -> Key:
        """What tells a row from the others."""
        return tuple(str(row[column]) for column in self._columns)

    def missing(self, keys: Iterable[Key]) -> list[Key]:
        """Keys without a row, in their order."""
        there = {self.key_of(row) for row in self.rows}
        return [key for key in keys if key not in there]

    def add(self, row: Row) -> None:
        """Keep a row, at once."""
        self.rows.append(row)
        commit = self._machine["commit"]
        if commit not in self._commits:
            self._commits.append(commit)
        machine = {**self._machine, "commit": ", ".join(self._commits)}
        result_file.write(f"{self._name}.part", self._config, self.rows, machine)

    def store(self, keys: Sequence[Key]) -> Path:
        """Put the rows so far in the order of ``keys`` in the place of the last results."""
        order = {key: place for place, key in enumerate(keys)}
        rows = [row for row in self.rows if self.key_of(row) in order]
        rows.sort(key=lambda row: order[self.key_of(row)])
        machine = {**self._machine, "commit": ", ".join(self._commits)}
        return result_file.write(self._name, self._config, rows, machine)

    def sum_up(self, name: str, keys: Sequence[Key], sums: Sequence[Row], *, store: bool) -> None:
        """Show what the rows come to; if asked, and there are any, store both.

        Parameters
        ----------
        name : str
            Of the table of the sums.
        """
        if store and self.rows:
            self.store(keys)
            result_file.write(name, self._config, sums)
        result_file.show(name, sums)

    def finish(self, keys: Sequence[Key]) -> Path:
        """Store the rows; the next start measures all of them again."""
        path = self.store(keys)
        self._path.unlink(missing_ok=True)
        return path

    def _earlier(self) -> list[Row]:
        """Rows of an unfinished start with the same configuration on a machine like this one."""
        if not self._path.exists():
            return []
        document = json.loads(self._path.read_text())
        then, now = document["machine"], self._machine
        if document["config"] != self._config or any(then[k] != now[k] for k in _OF_A_MACHINE):
            print(f"{self._path.name}: measured otherwise, dropped", file=sys.stderr)
            return []
        self._commits = then["commit"].split(", ")
        return result_file.rows_of(document)


def fill(table: Table, keys: Sequence[Key], measure: Callable[[Key], Row]) -> list[Row]:
    """Measure the rows that are missing, in their order; a bar shows how far it is.

    Returns
    -------
    list of dict
        All rows, stored as the table's results.
    """
    missing = table.missing(keys)
    with counting_bar() as bar:
        task = bar.add_task("", total=len(keys), completed=len(keys) - len(missing))
        for key in missing:
            bar.update(task, description=" ".join(key))
            row = measure(key)
            table.add(row)
            bar.advance(task)
            result_file.show(" ".join(key), [row])
    table.finish(keys)
    return table.rows
