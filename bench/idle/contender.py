"""One way to answer a query now and then, in a process of its own, in turns.

``python -m bench.idle.contender HOW MODEL CACHE``; a number of queries a line of the input, what
they cost a line of the output, in JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bench.idle.thread_switches import voluntary_switches
from bench.infrastructure.built_models import built

GAP_S = 0.1
"""From the answer of a query to the next."""

DUE_MS = 100.0
CORES = len(os.sched_getaffinity(0))
Ask = Callable[[], object]


def onnxruntime_with(threads: int) -> Callable[[str, Path], Ask]:
    """A session of ONNX Runtime's Python package, whose threads do not spin."""

    def load(model: str, cache: Path) -> Ask:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        path, inputs = built(model)
        session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
        return lambda: session.run(None, inputs)

    return load


def engine_with(lanes: int, **said: Any) -> Callable[[str, Path], Ask]:
    """Ours on so many lanes."""

    def load(model: str, cache: Path) -> Ask:
        import surplus

        path, inputs = built(model)
        asked = {"cache": cache, "kernels": "onnxruntime", "tune": "now", "inputs": inputs}
        loaded = surplus.load(path, f"cpu:{lanes}", **asked, **said)
        return lambda: loaded.run(inputs)

    return load


ALONE = "ONNX Runtime, one thread"
HOW: Mapping[str, Callable[[str, Path], Ask]] = {
    ALONE: onnxruntime_with(1),
    "ours, one lane": engine_with(1),
    "ours, one lane, due": engine_with(1, deadline_s=DUE_MS / 1e3),
    "ONNX Runtime, all threads": onnxruntime_with(CORES),
    "ours": engine_with(CORES),
    "ours, due": engine_with(CORES, deadline_s=DUE_MS / 1e3),
}


def cost(ask: Ask, queries: int) -> dict[str, float]:
    """CPU seconds and wake-ups a query, of the whole process and with the waiting in between."""
    used_ns, switches = time.process_time_ns(), voluntary_switches()
    for _ in range(queries):
        time.sleep(GAP_S)
        ask()
    used_ns = time.process_time_ns() - used_ns
    woken = voluntary_switches() - switches
    return {"cpu ms": used_ns / 1e6 / queries, "wake-ups": woken / queries}


def main() -> None:
    """Load, then answer as told until nobody asks any more."""
    how, model, cache = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    ask = HOW[how](model, cache)
    for _ in range(20):
        ask()
    print(json.dumps({}), flush=True)
    for line in sys.stdin:
        print(json.dumps(cost(ask, int(line))), flush=True)


if __name__ == "__main__":
    main()
