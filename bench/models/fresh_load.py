"""A load in a process of its own, as the figures that it prints."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_LOAD = """
import sys, time
import surplus, models
path, cache, name = sys.argv[1:]
inputs = dict(models.example_inputs(name))
{prepare}
before = time.perf_counter_ns()
model = surplus.load(path, "cpu:2", cache=cache, tune="now", inputs=inputs)
loaded = time.perf_counter_ns()
{report}
"""


def load_figures(path: Path, cache: Path, name: str, prepare: str, report: str) -> list[int]:
    """Load a model on two lanes, waiting for its plan.

    Parameters
    ----------
    name : str
        Of the registry; for its example inputs.
    prepare, report : str
        Python that runs before the clock, such as imports, and after it: the latter prints whole
        numbers, and finds ``model``, ``inputs``, and the times ``before`` and ``loaded`` in ns.
    """
    program = _LOAD.format(prepare=prepare, report=report)
    command = [sys.executable, "-c", program, str(path), str(cache), name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [int(word) for word in done.stdout.split()]
