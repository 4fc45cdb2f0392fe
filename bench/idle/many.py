"""A thousand loaded models that nobody asks: how often their threads wake, and what that costs."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from bench.idle.thread_switches import voluntary_switches
from bench.models import many_models
from surplus.engine.devices.parsing import available_cores
from surplus.engine.pipeline.loading import load_with
from surplus.engine.pipeline.process_memory import thread_count
from surplus.engine.planning.load_params import LoadParams

SETTLE_S, WATCHED_S = 3.0, 20.0


def row() -> dict[str, Any]:
    """Of a process of its own; plans are stored before, if they are not."""
    many_models.prepare()
    words = [sys.executable, "-m", "bench.idle.many"]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def measured() -> dict[str, Any]:
    """All loaded and asked once; then this thread sleeps, too."""
    params = LoadParams(cache=many_models.FOLDER / "cache", selection_s=0)
    paths = [many_models.build(index) for index in range(many_models.MODELS)]
    with ThreadPoolExecutor(available_cores()) as pool:
        models = list(pool.map(lambda path: load_with(path, params), paths))
    for model in models:
        model.run({"x": np.ones((1, many_models.SIZE), np.float32)})
    time.sleep(SETTLE_S)
    used_ns, switches = time.process_time_ns(), voluntary_switches()
    time.sleep(WATCHED_S)
    used_ns = time.process_time_ns() - used_ns
    woken = voluntary_switches() - switches - 1  # ours
    return {
        "models": len(models),
        "threads": thread_count(),
        "seconds": WATCHED_S,
        "wake-ups": woken,
        "CPU ms": used_ns / 1e6,
    }


if __name__ == "__main__":
    print(json.dumps(measured()))
