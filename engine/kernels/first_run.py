"""The child of a trial: compiles segments by a library, runs each once, stores what was compiled.

It says a line for each step, so that who reads them knows at which segment it ended.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from surplus.engine import _core
from surplus.engine.errors import RuntimeLibraryError, one_line
from surplus.engine.kernels.registry import failure_of, open_library
from surplus.engine.lifeline import end_with_parent
from surplus.engine.native import open_session
from surplus.engine.values import from_value, to_value

_WORTH = 0.7
"""What was compiled is kept where opening it takes at most that share of compiling."""


def main() -> None:
    """Answer the one question on standard input."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    question = json.loads(sys.stdin.buffer.readline())
    end_with_parent()
    try:
        open_library(question["library"])
    except RuntimeLibraryError as error:
        _say({"refused": one_line(error)})
        os._exit(0)
    for index, segment in enumerate(question["segments"]):
        _say({"begun": index})
        try:
            _say({"done": index, **_tried(question["library"], segment)})
        except (RuntimeError, ValueError, MemoryError, OSError) as error:
            failure = failure_of(question["library"])
            _say({"done": index, "error": failure or one_line(error)})
            if failure:
                break  # it runs nothing any more in this process
    os._exit(0)  # what the library left behind at a failure is not waited for


def _tried(library: str, segment: dict[str, Any]) -> dict[str, Any]:
    inputs, output_types = segment["inputs"], segment["output_types"]
    boundary = segment["input_names"], segment["output_names"], segment["width"]
    arrays = np.load(segment["values"], allow_pickle=False)
    given = [to_value(arrays[str(i)], inputs[i][0]) for i in range(len(inputs))]
    if segment["timed"]:
        return _timed(library, segment, given)
    precision = segment["precision"]
    choice = _core.KernelChoice(library, inputs, output_types, precision=precision)
    began = time.perf_counter()
    compiled = choice.compile(segment["file"], *boundary)
    compile_s = time.perf_counter() - began
    made = compiled.run(given)
    part = Path(segment["compiled"])
    compiled.export_to(str(part))
    size = part.stat().st_size
    began = time.perf_counter()
    again = _core.KernelChoice(
        library, inputs, output_types, compiled=str(part), precision=precision
    )
    opened = again.compile(segment["file"], *boundary)
    is_worth = time.perf_counter() - began < _WORTH * compile_s
    if not (is_worth and _same(opened.run(given), made)):
        part.unlink()
    return {"weight_bytes": size}


_ROUNDS = 30
_TIMED_S = 1.0
"""So often, or so long."""


def _timed(library: str, segment: dict[str, Any], given: list[_core.Value]) -> dict[str, Any]:
    """In turns with ONNX Runtime, then once more to time its operators, which takes time itself."""
    names, width = segment["input_names"], segment["width"]
    boundary = names, segment["output_names"], width
    types = segment["output_types"]
    choice = _core.KernelChoice(library, segment["inputs"], types, precision=segment["precision"])
    compiled = choice.compile(segment["file"], *boundary)
    session = open_session(segment["file"], width=width)
    feed = dict(zip(names, given, strict=True))
    compiled.run(given)
    session.time(feed, 1, 1 << 62, 0)
    ratios: list[float] = []
    began = time.monotonic()
    while len(ratios) < 3 or (len(ratios) < _ROUNDS and time.monotonic() - began < _TIMED_S):
        theirs_ns = session.time(feed, 1, 1 << 62, 0)[0]
        run_ns = time.perf_counter_ns()
        compiled.run(given)
        ratios.append((time.perf_counter_ns() - run_ns) / max(1, theirs_ns))
    counted = choice.compile(segment["file"], *boundary, times_operators=True)
    for _ in range(min(len(ratios), _COUNTED)):
        counted.run(given)
    times = {"to_onnx_runtime": median(ratios), "operators_ns": counted.operator_times()}
    return {"weight_bytes": 0, "times": times}


_COUNTED = 10


def _same(values: list[_core.Value], others: list[_core.Value]) -> bool:
    return all(
        from_value(one).tobytes() == from_value(other).tobytes()
        for one, other in zip(values, others, strict=True)
    )


def _say(line: dict[str, Any]) -> None:
    print(json.dumps(line), flush=True)
