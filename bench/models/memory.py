"""Memory of every model beside ONNX Runtime's session, and of fifty plans beside one.

``python -m bench memory [NAME ...]`` measures some models only; it goes on where it was stopped.
Each figure comes from a process of its own, above what that process held before the model.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from bench.infrastructure.built_models import FOLDER, built
from bench.infrastructure.resumable import Table, fill
from bench.models.cutting import cut_model, cut_plan
from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.onnx_reader import read
from surplus.engine.native import load_runtime
from surplus.engine.pipeline.memory_report import memory_report
from surplus.engine.pipeline.process_memory import MappedFiles, ProcessMemory
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.runtime.free_memory import release_free_memory
from surplus.engine.runtime.layout import prepack_plan
from surplus.models import model_names

MIB = 2**20
QUERIES = 10
PLANS = 50
PLAN_MODELS = ("resnet50", "bert_base", "faster_rcnn")
_CHILD = "--plans"


def model_row(name: str) -> dict[str, Any]:
    """A model's memory, planned and plain."""
    path, inputs = built(name)
    report = memory_report(path, LoadParams(cache=FOLDER / "cache"), inputs, QUERIES)
    planned, plain = report["planned"], report["plain"]
    return {
        "model": name,
        "plan": report["plan"]["name"],
        "ONNX Runtime peak MiB": plain["steady"]["peak_bytes"] / MIB,
        "peak MiB": _once(planned, "peak_bytes"),
        "peak ratio": report["ratio"]["peak"],
        "ONNX Runtime steady MiB": plain["steady"]["resident_bytes"] / MIB,
        "steady MiB": _once(planned, "resident_bytes"),
        "of it private MiB": planned["steady"]["private_bytes"] / MIB,
        "idle MiB": planned["loaded"]["resident_bytes"] / MIB,
    }


def _once(measured: dict[str, Any], field: str) -> float:
    """MiB of the steady state, a page that is mapped twice counted once."""
    steady = measured["steady"]
    return float(steady[field] - steady["counted_twice_bytes"]) / MIB


def measure_plans(name: str, count: int, different: int) -> dict[str, int]:
    """Memory of ``count`` plans of two segments, with so many different cuts, each run once."""
    path, inputs = built(name)
    load_runtime()
    machine_for(parse_devices("cpu:1"))
    graph = read(path, FOLDER / "cache")
    cuts = [round(len(graph.tasks) * (i % different + 1) / (different + 1)) for i in range(count)]
    for cut in set(cuts):
        prepack_plan(graph, cut_plan(graph, [cut]))
    release_free_memory()
    base = ProcessMemory.now()
    models = [cut_model(graph, [cut]) for cut in cuts]
    for model in models:
        model.run(inputs)
    held = ProcessMemory.now().minus(base)
    weights = MappedFiles.below(graph.folder)
    return {
        "bytes": held.private_bytes + weights.distinct_bytes,
        "private_bytes": held.private_bytes,
        "mapped_bytes": weights.resident_bytes,
    }


def plans_row(name: str, different: int) -> dict[str, Any]:
    """One plan and fifty, each in a process of its own; twice, since the first makes files."""
    built(name)
    _apart(name, PLANS, different)
    one, many = (_apart(name, count, different) for count in (1, PLANS))
    return {
        "model": name,
        "plans": PLANS,
        "different cuts": different,
        "one plan MiB": one["bytes"] / MIB,
        "all plans MiB": many["bytes"] / MIB,
        "ratio": many["bytes"] / one["bytes"],
        "private KiB a plan": (many["private_bytes"] - one["private_bytes"]) / PLANS / 1024,
        "mapped weights, each mapping counted MiB": many["mapped_bytes"] / MIB,
    }


def _apart(name: str, *counts: int) -> dict[str, int]:
    done = subprocess.run(
        [sys.executable, "-m", "bench.models.memory", _CHILD, name, *map(str, counts)],
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Measure in sub-processes and store the tables."""
    if _CHILD in sys.argv:
        print(json.dumps(measure_plans(sys.argv[2], *map(int, sys.argv[3:]))))
        return
    names = sys.argv[1:] or model_names()
    models = [(name,) for name in names]
    fill(Table("memory", {"queries": QUERIES}, ["model"]), models, lambda key: model_row(*key))
    plans = [
        (name, str(different)) for name in PLAN_MODELS if name in names for different in (5, PLANS)
    ]
    table = Table("memory_plans", {"segments": 2}, ["model", "different cuts"])
    fill(table, plans, lambda key: plans_row(key[0], int(key[1])))


if __name__ == "__main__":
    main()
