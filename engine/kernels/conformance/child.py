"""The child that asks a library the cases, one after another, beside ONNX Runtime.

It says a line before and after each, so that who reads them knows at which one it ended.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from surplus.engine import _core
from surplus.engine.errors import RuntimeLibraryError, one_line
from surplus.engine.kernels.conformance.aspect import Aspect
from surplus.engine.kernels.conformance.cases import Case, all_cases
from surplus.engine.kernels.conformance.cases.case import Feed
from surplus.engine.kernels.conformance.comparing import agreement
from surplus.engine.kernels.registry import failure_of, open_library
from surplus.engine.lifeline import end_with_parent
from surplus.engine.native import open_session
from surplus.engine.values import from_value, to_value


def main() -> None:
    """Answer the one question on standard input: a library and numbers of cases."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    question = json.loads(sys.stdin.buffer.readline())
    if question["is_idle"]:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    end_with_parent()
    try:
        open_library(question["library"])
    except RuntimeLibraryError as error:
        _say({"refused": one_line(error)})
        os._exit(0)
    cases = all_cases()
    with tempfile.TemporaryDirectory(prefix="surplus-conformance-") as folder:
        for index in question["cases"]:
            _say({"begun": index})
            _say({"done": index, "held": asked(question["library"], cases[index], Path(folder))})
            if failure_of(question["library"]):
                break  # it runs nothing any more in this process
    os._exit(0)  # what the library left behind at a failure is not waited for


def asked(library: str, case: Case, folder: Path) -> dict[str, bool]:
    """What of a case a library answers as ONNX Runtime does.

    Nothing of one that either refuses, or at which the library fails.
    """
    file = folder / "case.onnx"
    file.write_bytes(case.model)
    first = next(iter(next(iter(case.feeds.values()))))
    try:
        session = open_session(str(file), width=1)
        names = {
            held: [_right(session, feed) for feed in feeds] for held, feeds in case.feeds.items()
        }
        kernel = _compiled(library, file, session, first, next(iter(names.values()))[0])
    except (RuntimeError, ValueError, MemoryError):
        return {str(held): False for held in case.feeds}
    held: dict[Aspect, list[bool]] = {}
    for kind, feeds in case.feeds.items():
        for feed, right in zip(feeds, names[kind], strict=True):
            for found, holds in _compared(kernel, feed, right, case.rounding).items():
                held.setdefault(_kind(kind, found), []).append(holds)
    return {str(kind): all(rows) for kind, rows in held.items()}


def _kind(asked_for: Aspect, found: Aspect) -> Aspect:
    """Of other inputs than finite ones of the first sizes all of an answer counts."""
    return found if asked_for is Aspect.FINITE else asked_for


def _right(session: Any, feed: Feed) -> list[Any]:
    values = {name: to_value(array) for name, array in feed.items()}
    return [from_value(value) for value in session.run(values, list(session.output_names))]


def _compiled(library: str, file: Path, session: Any, first: Feed, right: Iterable[Any]) -> Any:
    inputs = [
        (int(to_value(first[name]).elem_type), list(first[name].shape))
        for name in session.input_names
    ]
    types = [int(to_value(np.asarray(array)).elem_type) for array in right]
    choice = _core.KernelChoice(library, inputs, types)
    boundary = list(session.input_names), list(session.output_names), 1
    return _Kernel(choice.compile(str(file), *boundary, takes_any_number=True), boundary[0])


class _Kernel:
    """What was compiled, and the order of its inputs."""

    def __init__(self, compiled: _core.CompiledModel, names: list[str]) -> None:
        self._compiled = compiled
        self._names = names

    def run(self, feed: Feed) -> list[Any]:
        """Arrays of its outputs."""
        return [from_value(v) for v in self._compiled.run([to_value(feed[n]) for n in self._names])]


def _compared(
    kernel: _Kernel, feed: Feed, right: list[Any], rounding: str
) -> Mapping[Aspect, bool]:
    try:
        found = kernel.run(feed)
    except (RuntimeError, ValueError, MemoryError):
        return {Aspect.FINITE: False, Aspect.MADE: False}
    return agreement(found, right, rounding)


def _say(line: dict[str, Any]) -> None:
    print(json.dumps(line), flush=True)
