"""First runs of segments with a library's kernels, in a child: what ends a process ends that one.

A segment that the library refuses, at which it crashes, or which it does not end in time, stays
with ONNX Runtime; the others are tried on. What was compiled is stored meanwhile.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from surplus.engine.interpreter import find_interpreter
from surplus.engine.kernels.library_child import LibraryChild

_log = logging.getLogger(__name__)

_START = "import sys; sys.path[:] = PATH; from surplus.engine.kernels.first_run import main; main()"

_MOST_CHILDREN = 8
"""Each ends at the first segment at which the library fails."""


@dataclass(frozen=True)
class TrialSegment:
    """A segment as a library is to compile it.

    Parameters
    ----------
    name : str
        For the log.
    file : Path
        ONNX.
    input_names, output_names : tuple of str
    inputs : tuple of (int, tuple of int)
        Element type and sizes of each.
    output_types : tuple of int
    width : int
    precision : str
    values : sequence of array
        To run with.
    timed : bool
        Whether to time its operators and it in turns with ONNX Runtime instead of storing it.
    """

    name: str
    file: Path
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]
    inputs: tuple[tuple[int, tuple[int, ...]], ...]
    output_types: tuple[int, ...]
    width: int
    precision: str
    values: Sequence[Any]
    timed: bool = False


@dataclass(frozen=True)
class SegmentTimed:
    """A segment in turns with ONNX Runtime's kernels, the same width.

    Parameters
    ----------
    to_onnx_runtime : float
        Median of its time over the one of ONNX Runtime before it.
    operators_ns : sequence of (str, int)
        By the library's names, in its order; 0 of what ran within another.
    """

    to_onnx_runtime: float
    operators_ns: Sequence[tuple[str, int]]


@dataclass(frozen=True)
class TriedSegment:
    """A segment that a library took.

    Parameters
    ----------
    weight_bytes : int
        Of what it compiled.
    compiled : Path
        Where that lies, if it was worth it.
    times : SegmentTimed, optional
        If it was to be timed.
    """

    weight_bytes: int
    compiled: Path
    times: SegmentTimed | None = None


def try_segments(
    library: str,
    segments: Sequence[TrialSegment],
    folder: Path,
    time_s: float,
    start: str = _START,
) -> dict[int, TriedSegment]:
    """Those that the library takes, by index.

    Parameters
    ----------
    folder : Path
        Where to keep inputs and what was compiled; the caller's to remove.
    time_s : float
        For each child; there is none where no Python can be started (interpreter.py).
    start : str
        What its interpreter executes; ``PATH`` stands for where modules are found.
    """
    interpreter = find_interpreter()
    if interpreter is None:
        _log.warning("%s is not tried: there is no Python to start a process with", library)
        return {}
    questions = {i: _question(segment, folder, i) for i, segment in enumerate(segments)}
    found: dict[int, TriedSegment] = {}
    for _ in range(_MOST_CHILDREN):
        if not questions:
            break
        order = list(questions)
        child = LibraryChild({"library": library, "segments": [questions[i] for i in order]}, start)
        for line in child.lines(interpreter, time_s):
            if "refused" in line:
                _log.warning("%s", line["refused"])
                return {}
            if "done" not in line:
                continue
            index = order[line["done"]]
            questions.pop(index)
            if "error" in line:
                _log.info("%s: not with %s: %s", segments[index].name, library, line["error"])
            else:
                found[index] = _tried(line, folder / f"{index}.blob")
        if child.begun is None:
            _log.warning("%s is not used: its first process %s", library, child.end)
            break
        index = order[child.begun]
        if questions.pop(index, None) is not None:
            _log.warning("%s: not with %s, which %s", segments[index].name, library, child.end)
    return found


def _tried(line: Mapping[str, Any], compiled: Path) -> TriedSegment:
    times = line.get("times")
    return TriedSegment(line["weight_bytes"], compiled, times and SegmentTimed(**times))


def _question(segment: TrialSegment, folder: Path, index: int) -> dict[str, Any]:
    values = folder / f"{index}.npz"
    arrays: dict[str, Any] = {str(i): value for i, value in enumerate(segment.values)}
    np.savez(values, **arrays)
    return {
        "file": str(segment.file),
        "input_names": segment.input_names,
        "output_names": segment.output_names,
        "inputs": segment.inputs,
        "output_types": segment.output_types,
        "width": segment.width,
        "precision": segment.precision,
        "timed": segment.timed,
        "values": str(values),
        "compiled": str(folder / f"{index}.blob"),
    }
