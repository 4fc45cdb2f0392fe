"""Measures a model's memory in a process of its own.

Reads a pickled ``MemoryProbeParams`` from stdin and prints JSON. What the process holds before it
loads the model (interpreter, libraries, inputs) is the base; everything else is above it.
"""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surplus.engine import native
from surplus.engine.errors import ExecutionError
from surplus.engine.pipeline.loading import load_with
from surplus.engine.pipeline.process_memory import (
    MappedFiles,
    ProcessMemory,
    reset_peak,
    thread_count,
)
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.planning.on_machine import machine_of
from surplus.engine.values import to_value

_OWN_ARENA = {"session.use_env_allocators": "0"}


@dataclass(frozen=True)
class MemoryProbeParams:
    """What to measure.

    Parameters
    ----------
    path : Path
        The ONNX file.
    inputs : dict
        Example inputs by name.
    queries : int
        How many to run before the steady state.
    load : LoadParams or None
        How to load it; None is a plain ONNX Runtime session of the file.
    threads : int
        Intra-op threads of the plain session.
    """

    path: Path
    inputs: dict[str, Any]
    queries: int
    load: LoadParams | None = None
    threads: int = 1


def probe_apart(params: MemoryProbeParams) -> dict[str, Any]:
    """``probe`` in a new process.

    Raises
    ------
    ExecutionError
        If that fails; the message is its last line.
    """
    done = subprocess.run(
        [sys.executable, "-m", "surplus.engine.pipeline.memory_probe"],
        input=pickle.dumps(params),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip().splitlines()
        raise ExecutionError(f"measuring memory failed: {reason[-1] if reason else 'killed'}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def probe(params: MemoryProbeParams) -> dict[str, Any]:
    """Memory above the base after loading and after queries, the peak, and mapped weights.

    Linux counts a page of a file once for every mapping of it; ``counted_twice_bytes`` is what
    resident memory and peak have too much, where sessions of a plan map the same weights.
    """
    native.load_runtime()
    if params.load is not None:
        machine_of(params.load)
    base = _base()
    query, folder = _plain(params) if params.load is None else _planned(params, params.load)
    loaded = ProcessMemory.now().minus(base)
    for _ in range(params.queries):
        query()
    steady = ProcessMemory.now().minus(base)
    weights = None if folder is None else MappedFiles.below(folder)
    twice = 0 if weights is None else weights.resident_bytes - weights.distinct_bytes
    return {
        "base": base.to_dict(),
        "loaded": loaded.to_dict(),
        "steady": steady.to_dict() | {"counted_twice_bytes": twice},
        "weights": None if weights is None else vars(weights),
        "threads": thread_count(),
    }


def _base() -> ProcessMemory:
    reset_peak()
    return ProcessMemory.now()


def _planned(params: MemoryProbeParams, load: LoadParams) -> tuple[Callable[[], object], Path]:
    model = load_with(params.path, load, params.inputs)
    return lambda: model.run(params.inputs), model.graph.folder


def _plain(params: MemoryProbeParams) -> tuple[Callable[[], object], None]:
    session = native.open_session(str(params.path), width=params.threads, config=_OWN_ARENA)
    kinds = {name: kind for name, _, kind, _ in session.input_info}
    values = {n: to_value(a, kinds.get(n) or None) for n, a in params.inputs.items()}
    return lambda: session.run(values), None


def main() -> int:
    """Answer what stdin asks."""
    params = pickle.load(sys.stdin.buffer)
    print(json.dumps(probe(params)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
