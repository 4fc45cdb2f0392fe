"""Standard Task Graphs: tasks and predecessors without communication, for equal processors.

References
----------
Tobita, Kasahara: A standard task graph set for fair evaluation of multiprocessor scheduling
algorithms, Journal of Scheduling 5, 2002. A file's first line is the number of tasks; then a line
for each of them, and for a dummy before and behind all: number, processing time, number of
predecessors, predecessors. Lines that begin with ``#`` are comments.
"""

from __future__ import annotations

from surplus.placement.field_checks import END, ProblemError, shown
from surplus.placement.formats.problem_text import ProblemText
from surplus.placement.formats.read_params import ReadParams
from surplus.placement.formats.task_order import in_order
from surplus.placement.problem import Device, Problem, Task, Tensor

UNIT_NS = 1_000
"""A unit of processing time is a microsecond."""

_PROCESSORS = 2
_DUMMIES = 2
_COLUMNS = 3

_Row = tuple[int, list[int]]
"""Number of the line, and its whole numbers."""


class Stg:
    """Processors are the lanes of one device: data costs nothing to hand on."""

    def recognises(self, file: ProblemText) -> bool:
        """By a first line that is one whole number."""
        first = next((line for _, line in _lines(file.text)), "")
        return first.strip().isdigit()

    def read(self, file: ProblemText, params: ReadParams) -> Problem:
        """The problem; ``params.processors`` is 2 by default.

        Raises
        ------
        ProblemError
            Naming the line and its column.
        """
        rows = _rows(file.text)
        tasks = [Task(f"t{row[0]}", "Task", (row[1] * UNIT_NS,)) for _, row in rows]
        readers: list[list[int]] = [[] for _ in rows]
        for _, row in rows:
            for before in row[_COLUMNS:]:
                readers[before].append(row[0])
        edges = (Tensor(f"x{i}", i, tuple(to), 0) for i, to in enumerate(readers) if to)
        ordered, tensors = in_order(tasks, edges)
        devices = (Device("cpu", params.processors or _PROCESSORS),)
        notes = {"times": "a unit of the file is 1 us", "data": "tensors only order tasks"}
        return Problem(file.name, devices, (), ordered, tensors, notes)


def _lines(text: str) -> list[tuple[int, str]]:
    """Lines that are no comments, numbered from 1."""
    lines = enumerate(text.splitlines(), 1)
    return [(number, line) for number, line in lines if line.strip() and line.lstrip()[0] != "#"]


def _rows(text: str) -> list[_Row]:
    lines = _lines(text)
    if not lines:
        raise ProblemError("line 1: the number of tasks is missing")
    number, first = lines[0]
    header = _numbers(number, first)
    if len(header) != 1:
        raise ProblemError(
            f"line {number}: the number of tasks must stand alone, got {shown(first)}"
        )
    count = header[0] + _DUMMIES
    if len(lines) - 1 != count:
        last = lines[-1][0]
        raise ProblemError(
            f"line {last}: {len(lines) - 1} tasks end here, line {number} says {header[0]}"
            f" and there are {_DUMMIES} dummies"
        )
    rows = [(number, _numbers(number, line)) for number, line in lines[1:]]
    for index, row in enumerate(rows):
        _check_row(index, row, count)
    return rows


def _numbers(number: int, line: str) -> list[int]:
    found = []
    for place, word in enumerate(line.split(), 1):
        if not (word.isascii() and word.isdigit()):
            raise ProblemError(
                f"line {number}: column {place} must be a whole number >= 0, got {shown(word)}"
            )
        if len(word) > len(str(END)) or int(word) >= END:
            raise ProblemError(
                f"line {number}: column {place} must be below 2^53, got {shown(word)}"
            )
        found.append(int(word))
    return found


def _check_row(index: int, row: _Row, count: int) -> None:
    line, numbers = row
    if len(numbers) < _COLUMNS:
        raise ProblemError(f"line {line}: number, processing time and predecessors are needed")
    if numbers[0] != index:
        raise ProblemError(f"line {line}: column 1: task {numbers[0]} stands where {index} should")
    before = numbers[_COLUMNS:]
    if numbers[2] != len(before):
        raise ProblemError(
            f"line {line}: column 3 says {numbers[2]} predecessors, {len(before)} follow"
        )
    for place, task in enumerate(before, _COLUMNS + 1):
        if task >= count:
            raise ProblemError(f"line {line}: column {place}: there is no task {task}")
        if task in before[: place - _COLUMNS - 1]:
            raise ProblemError(f"line {line}: column {place}: predecessor {task} comes twice")
