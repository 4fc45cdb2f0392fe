"""The limit: the same models called in a process, without a server between.

``python -m bench.serving.in_process NAME=FILE ...`` answers lines of JSON with lines of JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.infrastructure.built_models import FOLDER
from bench.infrastructure.contender_process import ContenderProcess
from bench.infrastructure.process_tree import tree_bytes
from bench.serving.loads import Asking, Turn, turn_of
from bench.serving.payloads import Payload, all_payloads
from surplus.loadgen.clock import NS_PER_S, MonotonicClock
from surplus.loadgen.closed_loop import ClosedLoopParams
from surplus.loadgen.params import LoadgenParams
from surplus.loadgen.stats import summarise
from surplus.loadgen.threaded_loop import run_threaded_loop

CORES = len(os.sched_getaffinity(0))


class InProcess:
    """One caller for one client, as many as cores for several."""

    def __init__(self, folder: Path, payloads: Mapping[str, Payload]) -> None:
        self._child = ContenderProcess("bench.serving.in_process", *payloads, quiet=True)
        self.at_rest_bytes: int = self._child.first["bytes"]

    def takes(self, load: Asking) -> bool:
        """It has no protocol, and stands beside gRPC's rows."""
        return load.protocol == "grpc" and not load.shares_memory

    def turn(self, load: Asking, seconds: float) -> Turn:
        """Of one load that it takes."""
        callers = min(load.clients, CORES)
        found = self._child.ask(payload=load.payload, callers=callers, seconds=seconds)
        return Turn(**found)

    def end(self) -> None:
        """Nobody asks any more."""
        self._child.end()


def _turn(model: Any, inputs: Any, callers: int, seconds: float) -> Turn:
    load = LoadgenParams(min_duration_ns=round(seconds * NS_PER_S))
    computed_s = time.process_time()
    loop = ClosedLoopParams(load, callers)
    records = run_threaded_loop(lambda _: model.run(inputs), loop, MonotonicClock())
    cpu_ns = (time.process_time() - computed_s) * NS_PER_S / max(1, len(records))
    return turn_of(summarise(records, open_loop=False), cpu_ns)


def main() -> None:
    """Load, then do what is asked until nobody asks any more."""
    import surplus

    known = all_payloads()
    payloads = {name: known[name] for name in sys.argv[1:]}
    models = {
        name: surplus.load(payload.file, cache=FOLDER / "cache", inputs=payload.inputs)
        for name, payload in payloads.items()
    }
    for name, payload in payloads.items():
        models[name].run(payload.inputs)
    print(json.dumps({"bytes": tree_bytes(os.getpid())}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        name = asked["payload"]
        found = _turn(models[name], payloads[name].inputs, asked["callers"], asked["seconds"])
        print(json.dumps(asdict(found)), flush=True)


if __name__ == "__main__":
    main()
