"""From an interpreter's start to the first answer: cold, warm, and beside ONNX Runtime's package.

``python -m bench start_up [MODEL ...]``. Every figure is of fresh processes, in turns; a ratio is
the median of those within a turn. A model is one of the registry, or ``light_NAME`` of the tests of
the onnx package. Cold is an empty cache; warm is a plan that was measured and stored before.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from bench.infrastructure import result_file
from bench.infrastructure.built_models import FOLDER, built

TURNS = 9
MODELS = ("lenet", "light_squeezenet", "light_densenet121", "resnet50", "bert_base", "faster_rcnn")
_PEER = Path(__file__).with_name("first_answer_onnxruntime.py")
_OURS = Path(__file__).with_name("first_answer.py")
_IMPORTS = {
    "numpy ms": "import numpy",
    "onnxruntime ms": "import onnxruntime",
    "engine ms": "import numpy, surplus.engine.pipeline.load",
    "library ms": "from surplus.engine.native import load_runtime; load_runtime()",
}


def subject(name: str) -> Path:
    """The model's file, with inputs beside it."""
    return _light(name) if name.startswith("light_") else built(name)[0]


def _light(name: str) -> Path:
    """A model of the onnx package, which has its weights made up by nodes, and an input for it."""
    path = FOLDER / f"{name}.onnx"
    if not path.exists():
        source = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light" / path.name
        FOLDER.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, path)
    graph = onnx.load(path).graph
    held = {tensor.name for tensor in graph.initializer}
    rng = np.random.default_rng(0)
    inputs = {
        value.name: rng.random([d.dim_value for d in value.type.tensor_type.shape.dim], np.float32)
        for value in graph.input
        if value.name not in held
    }
    np.savez(path.with_suffix(".npz"), **inputs)  # type: ignore[arg-type]
    return path


def row(name: str, folder: Path) -> dict[str, Any]:
    """One model's times, in ms, and ratios to ONNX Runtime's."""
    path = subject(name)
    warm = folder / "warm"
    _answered(_OURS, path, warm, tune="now")
    turns = [_turn(path, folder, warm) for _ in range(TURNS)]
    median = {key: statistics.median(turn[key] for turn in turns) for key in turns[0]}
    return {
        "model": name,
        "ONNX Runtime ms": median["peer"],
        "cold ms": median["cold"],
        "cold ratio": statistics.median(turn["cold"] / turn["peer"] for turn in turns),
        "warm ms": median["warm"],
        "warm above ONNX Runtime ms": statistics.median(t["warm"] - t["peer"] for t in turns),
    }


def _turn(path: Path, folder: Path, warm: Path) -> dict[str, float]:
    cold = folder / "cold"
    try:
        return {
            "peer": _answered(_PEER, path),
            "cold": _answered(_OURS, path, cold, tune="background"),
            "warm": _answered(_OURS, path, warm, tune="background"),
        }
    finally:
        shutil.rmtree(cold, ignore_errors=True)


def _answered(script: Path, *arguments: Path, tune: str = "") -> float:
    """Milliseconds from the interpreter's first statement to the first answer."""
    done = subprocess.run(
        [sys.executable, str(script), *map(str, arguments)],
        stdout=subprocess.PIPE,
        env={**_environment(), "SURPLUS_TUNE": tune},
        check=True,
    )
    return float(json.loads(done.stdout.splitlines()[-1])) / 1e6


def _environment() -> dict[str, str]:
    """Ours, with byte code kept, as that of installed packages is."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def imports() -> dict[str, Any]:
    """What parts of a warm start take in fresh processes, an empty interpreter subtracted."""
    timed: dict[str, list[float]] = {}
    for _ in range(TURNS):
        for key, code in {"empty": "pass", **_IMPORTS}.items():
            timed.setdefault(key, []).append(_seconds(code) * 1e3)
    empty = timed.pop("empty")
    return {
        key: statistics.median(t - e for t, e in zip(times, empty, strict=True))
        for key, times in timed.items()
    }


def _seconds(code: str) -> float:
    timing = f"import time; began = time.perf_counter(); {code}; print(time.perf_counter() - began)"
    command = [sys.executable, "-c", timing]
    done = subprocess.run(command, stdout=subprocess.PIPE, env=_environment(), check=True)
    return float(done.stdout)


def main() -> None:
    """Measure in sub-processes and store the table; models that are named are shown only."""
    names = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        rows = [row(name, Path(folder) / name) for name in names or MODELS]
    parts = imports()
    result_file.show("Start to first answer", rows)
    result_file.show("Parts", [parts])
    if not names:
        result_file.write("start_up", {"turns": TURNS, "parts": parts}, rows)


if __name__ == "__main__":
    main()
