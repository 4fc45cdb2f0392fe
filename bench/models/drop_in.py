"""What ``session.run`` costs: our session beside ONNX Runtime's own, of small models, in turns.

Nothing is stored: it prints a row a model, ratios of medians within rounds.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
import onnxruntime

import surplus
from bench.infrastructure.timing import interleaved
from surplus import models

CPU = ["CPUExecutionProvider"]
ONE_OPERATOR = """<ir_version: 9, opset_import: ["" : 18]>
one (float[n, 3] x) => (float[n, 3] y) { y = Relu(x) }"""


def files(folder: Path) -> dict[str, tuple[Path, dict[str, Any]]]:
    """Models and their inputs, by name."""
    one = folder / "one.onnx"
    onnx.save(onnx.parser.parse_model(ONE_OPERATOR), one)
    found = {"one operator": (one, {"x": np.ones((1, 3), np.float32)})}
    for name in ("lenet", "two_tower"):
        path = models.save(models.build(name), folder / f"{name}.onnx")
        found[name] = path, dict(models.example_inputs(name))
    return found


def row(path: Path, feed: dict[str, Any], cache: Path) -> dict[str, float]:
    """Microseconds of theirs, and ours as ratios to it."""
    session = surplus.InferenceSession(path, cache=cache, tune="now")
    due = surplus.RunOptions()
    due.add_run_config_entry("surplus.deadline_ms", "1000")
    narrow = onnxruntime.SessionOptions()
    narrow.intra_op_num_threads = 1
    theirs = onnxruntime.InferenceSession(path, providers=CPU)
    alone = onnxruntime.InferenceSession(path, narrow, providers=CPU)
    times = interleaved(
        {
            "theirs": lambda: theirs.run(None, feed),
            "theirs, one thread": lambda: alone.run(None, feed),
            "session.run": lambda: session.run(None, feed),
            "with RunOptions": lambda: session.run(None, feed, due),
            "model.run": lambda: session.model.run(feed),
        }
    )
    found = {"theirs, us": times["theirs"].median_ns / 1e3}
    return found | {name: t.ratio_to(times["theirs"]) for name, t in times.items()}


def main() -> int:
    """Measure and print."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        for model, (path, feed) in files(folder).items():
            numbers = row(path, feed, folder / "cache")
            print(model, "; ".join(f"{what} {number:.2f}" for what, number in numbers.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
