"""What whole models cost the thread that submits them, on a GPU that takes no time.

``python -m tests.null_gpu.submission [MODEL...]`` after ``make test-cuda-provider``: the host's
side of ONNX Runtime's CUDA provider, in our core and in its own package, without the driver's part
of a launch. Contenders take turns.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

from tests.fakes.null_gpu import PROVIDER, ROOT, compiled

MODELS = ("resnet50", "bert_base", "dlrm", "ssd_per_class", "faster_rcnn")
ROUNDS, QUERIES = 10, 40


def main() -> None:
    if "NULL_GPU" not in os.environ:
        again()
        return
    print("model            launches  core: segment ms  core: query ms  package: query ms")
    for name in sys.argv[1:] or MODELS:
        print("{:16s} {:8d} {:17.3f} {:15.3f} {:18.3f}".format(name, *measured(name)), flush=True)


def again() -> None:
    """This script in a process that has the GPU, and onnxruntime-gpu's package."""
    with tempfile.TemporaryDirectory() as folder:
        gpu = compiled(Path(folder))
        paths = (str(PROVIDER.parents[1]), str(ROOT))
        environment = {**gpu.environment, "NULL_GPU": "1", "PYTHONPATH": os.pathsep.join(paths)}
        subprocess.run([sys.executable, *sys.argv], env=environment, check=True)


def measured(name: str) -> tuple[int, float, float, float]:
    """Kernels a query, and milliseconds: medians over rounds."""
    from bench.gpu_check.fixed_sizes import with_fixed_sizes
    from bench.gpu_check.onnxruntime_cuda import runner
    from surplus import models
    from surplus.engine.devices.machines import open_machine
    from surplus.engine.devices.parsing import parse_devices
    from surplus.engine.native import open_session
    from surplus.engine.values import to_value
    from tests.null_gpu.provider_on_null_gpu import GPU, NullCuda, Subject

    with tempfile.TemporaryDirectory() as folder:
        arrays = models.example_inputs(name)
        path = models.save(models.build(name), Path(folder) / "m.onnx")
        fixed = with_fixed_sizes(path, arrays)
        machine = open_machine(parse_devices("cpu:1,cuda:0:1"))
        subject = Subject(machine, fixed)
        inputs = [to_value(arrays[key]) for key in open_session(str(fixed)).input_names]
        package = runner(fixed, arrays)
        segments: list[float] = []

        def core() -> None:
            spans = subject.plan.execute(inputs, traced=True).spans()
            # Copies in come first, then the segment.
            row = spans[spans[:, 0] == len(inputs)][0]
            segments.append((row[4] - row[3]) / 1e6)

        before = NullCuda().launches()
        core()
        launches = NullCuda().launches() - before
        rounds = [(timed_ms(core), timed_ms(package)) for _ in range(ROUNDS)]
        assert subject.gpu(GPU)["executed"] > 0
        machine.close()
    ours, theirs = (float(np.median([row[i] for row in rounds])) for i in (0, 1))
    return launches, median(segments), ours, theirs


def timed_ms(call: Callable[[], object]) -> float:
    taken = []
    for _ in range(QUERIES):
        start = time.perf_counter()
        call()
        taken.append(1e3 * (time.perf_counter() - start))
    return median(taken)


if __name__ == "__main__":
    main()
