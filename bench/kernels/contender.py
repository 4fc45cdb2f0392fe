"""One contender in a process of its own: answers a model's queries when it is told to.

``python -m bench.kernels.contender HOW CACHE MODEL INPUTS ...``; each line of the standard input is
a request in JSON, each line of the output its answer: ``{"do": "alone", "s": 0.3}`` gives the times
of the first model's queries one by one, ``{"do": "callers", "count": 2, "s": 1}`` its queries a
second, ``{"do": "each", "s": 2}`` those of each model with a caller of its own, ``{"do": "rss"}``
bytes.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Caller = Callable[[], Callable[[], object]]
"""Makes what one caller calls for a query."""

CORES = len(os.sched_getaffinity(0))


def engine(path: Path, given: Path, cache: Path) -> tuple[Caller, dict[str, Any]]:
    """The engine as a user has it once a plan is stored: another process has measured it."""
    measure = [sys.executable, "-m", "bench.kernels.contender", "measure", str(cache)]
    nobody = subprocess.DEVNULL
    subprocess.run([*measure, str(path), str(given)], stdin=nobody, stdout=nobody, check=True)
    return measured(path, given, cache)


def measured(path: Path, given: Path, cache: Path) -> tuple[Caller, dict[str, Any]]:
    """The same, measured here unless it is stored."""
    import surplus

    inputs = dict(np.load(given))
    options: dict[str, Any] = {"cache": cache, "inputs": inputs, "kernels": "auto", "tune": "now"}
    model = surplus.load(path, devices=f"cpu:{CORES}", **options)
    return lambda: lambda: model.run(inputs), {"plan": model.plan.name, **model.facts}


def onnxruntime_with(threads: int) -> Any:
    """ONNX Runtime's Python package."""

    def load(path: Path, given: Path, _: Path) -> tuple[Caller, dict[str, Any]]:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        inputs = dict(np.load(given))
        made = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
        return lambda: lambda: made.run(None, inputs), {}

    return load


def openvino_with(hint: str) -> Any:
    """OpenVINO's Python package with a hint: float32, no pinning."""

    def load(path: Path, given: Path, _: Path) -> tuple[Caller, dict[str, Any]]:
        import openvino

        inputs = dict(np.load(given))
        core = openvino.Core()
        model = core.read_model(path)
        model.reshape({name: list(array.shape) for name, array in inputs.items()})
        settings: dict[str, Any] = {
            "INFERENCE_PRECISION_HINT": "f32",
            "ENABLE_CPU_PINNING": False,
            "INFERENCE_NUM_THREADS": CORES,
            "PERFORMANCE_HINT": hint,
        }
        compiled = core.compile_model(model, "CPU", settings)

        def caller() -> Callable[[], object]:
            request = compiled.create_infer_request()
            return lambda: request.infer(inputs, share_inputs=True, share_outputs=True)

        return caller, {}

    return load


CONTENDERS: dict[str, Any] = {
    "surplus": engine,
    "measure": measured,
    "onnxruntime x1": onnxruntime_with(1),
    f"onnxruntime x{CORES}": onnxruntime_with(CORES),
    "openvino": openvino_with("LATENCY"),
    "openvino throughput": openvino_with("THROUGHPUT"),
}


def alone_ns(run: Callable[[], object], seconds: float) -> list[int]:
    """Times of queries, one after another; one at least."""
    times: list[int] = []
    end = time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        began = time.perf_counter_ns()
        run()
        times.append(time.perf_counter_ns() - began)
    return times


def a_second(callers: list[Callable[[], object]], seconds: float) -> list[float]:
    """Queries that each of these callers gets answered."""
    counts = [0] * len(callers)
    begin = threading.Barrier(len(callers) + 1)
    spent = [0.0] * len(callers)

    def call(index: int) -> None:
        begin.wait()
        began = time.perf_counter()
        while time.perf_counter() - began < seconds or not counts[index]:
            callers[index]()
            counts[index] += 1
        spent[index] = time.perf_counter() - began

    threads = [threading.Thread(target=call, args=(i,)) for i in range(len(callers))]
    for thread in threads:
        thread.start()
    begin.wait()
    for thread in threads:
        thread.join()
    return [count / s for count, s in zip(counts, spent, strict=True)]


def main() -> None:
    """Serve requests until the input ends."""
    how, cache, *files = sys.argv[1:]
    made = []
    for model, given in zip(files[::2], files[1::2], strict=True):
        caller, facts = CONTENDERS[how](Path(model), Path(given), Path(cache))
        made.append(caller)
    callers = [caller() for caller in made]
    for run in callers:
        run()
    _say({"facts": facts})
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["do"] == "alone":
            _say({"ns": alone_ns(callers[0], asked["s"])})
        elif asked["do"] == "callers":
            rates = a_second([made[0]() for _ in range(asked["count"])], asked["s"])
            _say({"a_second": sum(rates)})
        elif asked["do"] == "each":
            _say({"a_second": a_second(callers, asked["s"])})
        else:
            _say({"rss": _rss_bytes()})


def _rss_bytes() -> int:
    resident = int(Path("/proc/self/statm").read_text().split()[1])
    return resident * resource.getpagesize()


def _say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
