"""First queries of a model that nobody has measured, beside ONNX Runtime's package.

``python -m bench first_queries [MODEL ...] [--turns N] [--conditions quiet,busy]``. A turn is a
fresh process and an empty cache for each contender, one caller, nothing set: queries 31 to 130, or
as many as end within ten seconds after the thirtieth. A row is the median over the turns of our
median over that of the better of ONNX Runtime with one thread and with two, quiet and beside one
process that computes all the time. Bars: the geometric mean at most 1.02, no model above 1.10.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from bench.infrastructure import result_file
from bench.infrastructure.built_models import FOLDER
from bench.models import start_up

TURNS = 9
FIRST, LAST = 30, 130
MOST_S = 10.0
CONDITIONS = ("quiet", "busy")
CONTENDERS = ("surplus", "onnxruntime x1", "onnxruntime x2")
LIGHT = tuple(
    f"light_{name}"
    for name in (
        "bvlc_alexnet",
        "densenet121",
        "inception_v1",
        "inception_v2",
        "resnet50",
        "shufflenet",
        "squeezenet",
        "vgg19",
        "zfnet512",
    )
)
"""All that the onnx package has."""

PERCEPTRONS = {"perceptron_16": (16, 3), "perceptron_64": (64, 6), "perceptron_256": (256, 8)}
"""Width and layers: programs of many tiny models, one call each."""

FAN = "fan_480"
_BRANCHES, _DEPTH, _SIZE = 60, 8, 64
MODELS = tuple(dict.fromkeys((*start_up.MODELS, FAN, *LIGHT, *PERCEPTRONS)))

_ASKED = Path(__file__).with_name("first_queries_asked.py")
_SPINS = "while True: pass"


def subject(name: str) -> Path:
    """The model's file, with inputs beside it."""
    if name != FAN and name not in PERCEPTRONS:
        return start_up.subject(name)
    path = FOLDER / f"{name}.onnx"
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        model, width = (_fan(), _SIZE) if name == FAN else _perceptron(*PERCEPTRONS[name])
        onnx.save(model, path)
        np.savez(path.with_suffix(".npz"), x=np.ones((1, width), np.float32))
    return path


def _perceptron(width: int, layers: int) -> tuple[onnx.ModelProto, int]:
    rng = np.random.default_rng(0)
    nodes, weights, value = [], [], "x"
    for layer in range(layers):
        scale = (rng.standard_normal((width, width)) / width**0.5).astype(np.float32)
        weights.append(numpy_helper.from_array(scale, f"w{layer}"))
        nodes.append(helper.make_node("MatMul", [value, f"w{layer}"], [f"g{layer}"]))
        value = f"v{layer}"
        nodes.append(helper.make_node("Relu", [f"g{layer}"], [value]))
    return _model(nodes, weights, value, width), width


def _fan() -> onnx.ModelProto:
    nodes, ends = [], []
    for branch in range(_BRANCHES):
        value = "x"
        for step in range(_DEPTH - 1):
            made = f"b{branch}_{step}"
            nodes.append(helper.make_node(("Sin", "Cos")[step % 2], [value], [made]))
            value = made
        ends.append(value)
    nodes += [
        helper.make_node("Add", [ends[i - 1] if i == 1 else f"s{i - 1}", ends[i]], [f"s{i}"])
        for i in range(1, _BRANCHES)
    ]
    return _model(nodes, [], f"s{_BRANCHES - 1}", _SIZE)


def _model(
    nodes: list[onnx.NodeProto], weights: list[onnx.TensorProto], output: str, width: int
) -> onnx.ModelProto:
    ends = [helper.make_tensor_value_info(name, 1, [1, width]) for name in ("x", output)]
    graph = helper.make_graph(nodes, "first queries", ends[:1], ends[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def row(name: str, condition: str, turns: int) -> dict[str, Any]:
    """One model's times, in ms, and the ratio to the better of ONNX Runtime's."""
    path = subject(name)
    with _condition(condition):
        found = [_turn(path, number) for number in range(turns)]
    median = {each: statistics.median(turn[each] for turn in found) for each in CONTENDERS}
    better = min(CONTENDERS[1:], key=lambda each: median[each])
    return {
        "model": name,
        "condition": condition,
        **{f"{each} ms": median[each] / 1e6 for each in CONTENDERS},
        "better": better,
        "ratio": statistics.median(turn["surplus"] / turn[better] for turn in found),
    }


def _turn(path: Path, number: int) -> dict[str, float]:
    """Nanoseconds of a query, by contender; who begins changes from turn to turn."""
    shift = number % len(CONTENDERS)
    order = (*CONTENDERS[shift:], *CONTENDERS[:shift])
    return {contender: _asked(contender, path) for contender in order}


def _asked(contender: str, path: Path) -> float:
    cache = Path(tempfile.mkdtemp())
    try:
        done = subprocess.run(
            [sys.executable, str(_ASKED), contender, str(path), *map(str, (FIRST, LAST, MOST_S))],
            stdout=subprocess.PIPE,
            env=_environment(cache),
            check=True,
        )
    finally:
        shutil.rmtree(cache, ignore_errors=True)
    return statistics.median(json.loads(done.stdout.splitlines()[-1]))


def _environment(cache: Path) -> dict[str, str]:
    """A user's who sets nothing."""
    own = {k: v for k, v in os.environ.items() if not k.startswith("SURPLUS_")}
    return own | {"XDG_CACHE_HOME": str(cache), "ORT_DISABLE_TELEMETRY": "1"}


def _mean(rows: list[dict[str, Any]], condition: str) -> float:
    return statistics.geometric_mean(r["ratio"] for r in rows if r["condition"] == condition)


@contextmanager
def _condition(name: str) -> Iterator[None]:
    """Beside one process that computes all the time, or none."""
    if name == "quiet":
        yield
        return
    with subprocess.Popen([sys.executable, "-c", _SPINS]) as other:
        try:
            yield
        finally:
            other.kill()


def main() -> int:
    """Show the table; it is stored if all of it was measured."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("models", nargs="*", choices=(*MODELS, []), metavar="MODEL")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--conditions", default=",".join(CONDITIONS))
    args = parser.parse_args()
    conditions = args.conditions.split(",")
    rows = []
    for condition in conditions:
        for name in args.models or MODELS:
            rows.append(row(name, condition, args.turns))
            print(json.dumps(rows[-1]), flush=True)
    means = {
        c: statistics.geometric_mean(r["ratio"] for r in rows if r["condition"] == c)
        for c in conditions
    }
    result_file.show("First queries", rows)
    print(means)
    if not args.models and args.turns >= TURNS and args.conditions == ",".join(CONDITIONS):
        result_file.write("first_queries", {"turns": args.turns, "means": means}, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
