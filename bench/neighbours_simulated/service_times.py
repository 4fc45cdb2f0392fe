"""How long a query of each model of the neighbours' mixes takes on one thread, measured once.

``python -m bench.neighbours_simulated.service_times`` measures and stores them, on a quiet machine.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.infrastructure import result_file
from bench.neighbours.mixes import BACKGROUND, MIXES, Stream
from surplus.engine.atomic_file import write_atomic

PATH = Path(__file__).parents[1] / "profiles" / "neighbours.json"
_WARM, _TIMES = 5, 60
_BEST = 0.9
"""Share of the times that is kept, the shortest: the others are of whoever else runs here."""


def measured(stream: Stream) -> list[int]:
    """Nanoseconds of so many queries of a session of one thread, ascending."""
    import onnxruntime

    path, inputs = stream.built()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
    times = []
    for _ in range(_WARM + _TIMES):
        began = time.perf_counter_ns()
        session.run(None, inputs)
        times.append(time.perf_counter_ns() - began)
    return sorted(times[_WARM:])[: round(_BEST * _TIMES)]


def stored() -> tuple[Mapping[str, Any], Mapping[str, Sequence[int]]]:
    """Where they were measured, and the times of each stream by its name."""
    document = json.loads(PATH.read_text())
    return document["machine"], document["service_ns"]


def main() -> None:
    """Measure all."""
    streams = [stream for mix in MIXES.values() for stream in mix]
    document = {
        "what": "nanoseconds of a query on one thread of ONNX Runtime, measured",
        "machine": result_file.machine(),
        "kept": _BEST,
        "service_ns": {stream.name: measured(stream) for stream in [*streams, BACKGROUND]},
    }
    write_atomic(PATH, (json.dumps(document, indent=1) + "\n").encode())
    print(PATH)


if __name__ == "__main__":
    main()
