"""``engine serve`` of fifty models that nothing is known of: until it is ready.

``python -m bench repository``, in turns with ONNX Runtime's own package, which loads them one after
another in a fresh process. Small: 45 multilayer perceptrons of 1 MB and 5 convolutional networks.
Everyday: 50 convolutional networks of 5 to 47 MB, eight architectures; those of one have the same
weights, but each file is another by its content, so that nothing is known of it from another.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx

from bench.infrastructure import result_file
from bench.infrastructure.built_models import built
from bench.models.many_models import build

MODELS = 50
TURNS = 5
_EVERYDAY = (
    "squeezenet",
    "shufflenet_v2",
    "mobilenet_v2",
    "mnasnet",
    "efficientnet_b0",
    "googlenet",
    "densenet121",
    "resnet18",
)
_NETWORKS = ("squeezenet", "shufflenet_v2", "mnasnet", "mobilenet_v2", "googlenet")
_LOADS = """
import sys, time
import onnxruntime
kept, began = [], time.perf_counter()
for path in sys.argv[1:]:
    kept.append(onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]))
print(time.perf_counter() - began, flush=True)
sys.stdin.read()  # what ending takes is not counted
"""


def small(index: int) -> bytes:
    """A file's content; the networks among them are copies, the perceptrons differ."""
    is_network = index % 5 == 0 and index < 25
    return (built(_NETWORKS[index // 5])[0] if is_network else build(index)).read_bytes()


def everyday(index: int) -> bytes:
    """An architecture's file with a documentation string of its own, the model's last field."""
    model = built(_EVERYDAY[index % len(_EVERYDAY)])[0].read_bytes()
    return model + onnx.ModelProto(doc_string=f"number {index}").SerializeToString()


def repository(root: Path, content: Callable[[int], bytes]) -> list[Path]:
    """A folder of NAME/1/model.onnx."""
    for index in range(MODELS):
        path = root / f"model{index:02}" / "1" / "model.onnx"
        path.parent.mkdir(parents=True)
        path.write_bytes(content(index))
    return sorted(root.glob("*/1/model.onnx"))


def onnxruntime_s(paths: list[Path]) -> tuple[float, float]:
    """Sum of the loads, and that with interpreter and imports."""
    began = time.perf_counter()
    command = [sys.executable, "-c", _LOADS, *map(str, paths)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None, "it is a pipe"
        loads = process.stdout.readline()
        took = time.perf_counter() - began
        process.communicate()
    return float(loads), took


def serve_s(root: Path, cache: Path) -> float:
    """From starting ``engine serve`` until it says that it serves."""
    began = time.perf_counter()
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    tool = Path(sys.executable).with_name("engine")
    server = subprocess.Popen(
        [str(tool), "serve", str(root), "--port", "0", "--cache", str(cache)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**environment, "SURPLUS_TUNE": "background"},
        text=True,
    )
    assert server.stdout is not None, "it is a pipe"
    line = server.stdout.readline()
    took = time.perf_counter() - began
    server.terminate()
    server.communicate(timeout=60)
    if not line.startswith("serving"):
        raise RuntimeError(f"the server said {line!r}")
    return took


def measured(name: str, content: Callable[[int], bytes], folder: Path) -> dict[str, Any]:
    """A row, of turns."""
    root = folder / name
    paths = repository(root, content)
    serve_s(root, folder / f"{name} first")  # byte code and the files' pages
    turns = []
    for turn in range(TURNS):
        loads, with_start = onnxruntime_s(paths)
        cold = serve_s(root, folder / f"{name} cold{turn}")
        turns.append({"loads": loads, "with start": with_start, "cold": cold})
    row = {
        "models": f"{MODELS} {name}",
        "MB": sum(path.stat().st_size for path in paths) // 10**6,
        "ONNX Runtime's loads s": statistics.median(t["loads"] for t in turns),
        "with its start s": statistics.median(t["with start"] for t in turns),
        "engine serve ready s": statistics.median(t["cold"] for t in turns),
        "ratio to the loads": statistics.median(t["cold"] / t["loads"] for t in turns),
        "ratio with its start": statistics.median(t["cold"] / t["with start"] for t in turns),
    }
    shutil.rmtree(root)
    return row


def main() -> None:
    """Measure both repositories and store the rows."""
    with tempfile.TemporaryDirectory() as folder:
        rows = [measured(f.__name__, f, Path(folder)) for f in (small, everyday)]
    result_file.show("A repository of fifty models", rows)
    result_file.write("repository", {"turns": TURNS}, rows)


if __name__ == "__main__":
    main()
