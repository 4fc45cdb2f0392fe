"""How a conformance table is made: cases are asked in children, what ends one is not held."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from surplus.engine.errors import RuntimeLibraryError
from surplus.engine.interpreter import find_interpreter
from surplus.engine.kernels.conformance.aspect import Aspect
from surplus.engine.kernels.conformance.cases import Case, all_cases
from surplus.engine.kernels.conformance.instruction_set import instruction_set
from surplus.engine.kernels.conformance.table import ConformanceTable
from surplus.engine.kernels.library_child import LibraryChild

_log = logging.getLogger(__name__)

_START = (
    "import sys; sys.path[:] = PATH; from surplus.engine.kernels.conformance.child import main;"
    " main()"
)

_MOST_CHILDREN = 32
"""Each ends at the first case at which the library crashes, fails or does not end."""

_MOST_S = 900.0
"""For each: all cases take some 20 s on a core; the idle class waits for others."""


def make_table(
    library: str, version: str, *, is_idle: bool = False, start: str = _START
) -> ConformanceTable:
    """Ask a library that is installed all cases; takes some 20 s of a core.

    Parameters
    ----------
    is_idle : bool
        Whether to run only when no other process wants a core.
    start : str
        What the child's interpreter executes; ``PATH`` stands for where modules are found.

    Raises
    ------
    RuntimeLibraryError
        If the library cannot be opened, or ends every child, or none can be started.
    """
    interpreter = find_interpreter()
    if interpreter is None:
        raise RuntimeLibraryError("there is no Python to start a process with")
    cases = all_cases()
    left = list(range(len(cases)))
    answers: dict[int, Mapping[str, bool]] = {}
    for _ in range(_MOST_CHILDREN):
        if not left:
            return ConformanceTable(library, version, instruction_set(), _rows(cases, answers))
        question = {"library": library, "cases": left, "is_idle": is_idle}
        child = LibraryChild(question, start)
        lines = child.lines(interpreter, _MOST_S)
        _require_open(lines)
        answers |= {line["done"]: line["held"] for line in lines if "done" in line}
        if child.begun is not None and child.begun not in answers:
            _log.info("%s, %s: %s", library, cases[child.begun].operator, child.end)
            answers[child.begun] = {}
        if child.begun is None:
            raise RuntimeLibraryError(f"{library}: a process that was to ask it {child.end}")
        left = [index for index in left if index not in answers]
    raise RuntimeLibraryError(f"{library} ended {_MOST_CHILDREN} processes that asked it")


def _require_open(lines: Sequence[Mapping[str, Any]]) -> None:
    for line in lines:
        if "refused" in line:
            raise RuntimeLibraryError(line["refused"])


def _rows(
    cases: Sequence[Case], answers: Mapping[int, Mapping[str, bool]]
) -> dict[str, dict[str, list[str]]]:
    """What held in every case of an operator and its types that asked for it."""
    asked: dict[tuple[str, str], dict[str, bool]] = {}
    for index, case in enumerate(cases):
        found = asked.setdefault((case.operator, case.types), {})
        asked_for = {*case.feeds, *([Aspect.MADE] if Aspect.FINITE in case.feeds else [])}
        for kind in map(str, asked_for):
            found[kind] = found.get(kind, True) and answers[index].get(kind, False)
    rows: dict[str, dict[str, list[str]]] = {}
    for (operator, types), found in sorted(asked.items()):
        rows.setdefault(operator, {})[types] = sorted(k for k, holds in found.items() if holds)
    return rows
