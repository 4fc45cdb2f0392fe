"""A model too large for one GPU, on two: what it needs, and what plans come to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench.infrastructure import result_file
from bench.infrastructure.resumable import Table, fill
from bench.sir import too_large
from bench.sir.too_large import ROWS, limited, measured, whole_bytes
from surplus import models
from surplus.engine.planning.stages import Costs, read_model
from surplus.engine.segmentation.service import ServiceTimes
from tests.placement.several_gpus import chain_too_large_for_one


@pytest.fixture(autouse=True)
def chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain in the place of every detector; GPUs hold all of it."""
    monkeypatch.setattr(result_file, "RESULTS", tmp_path)

    def costs_on(model: str, lanes: int, gpus: int) -> Costs:
        problem = chain_too_large_for_one(gpus)
        devices = tuple(replace(device, memory_bytes=None) for device in problem.devices)
        problem = replace(problem, devices=devices)
        return Costs(problem, ServiceTimes.of(problem))

    path = models.save(models.build("chain", length=8, size=8), tmp_path / "m.onnx")
    graph = read_model(path, tmp_path)
    monkeypatch.setattr(too_large, "costs_on", costs_on)
    monkeypatch.setattr(too_large, "graph_of", lambda _: graph)


def test_a_gpu_has_to_hold_all_constants_and_what_is_there_at_once() -> None:
    problem = chain_too_large_for_one(1)
    weights = sum(task.weight_bytes for task in problem.tasks)
    largest = max(tensor.size_bytes for tensor in problem.tensors)
    assert weights < whole_bytes("any") <= weights + 3 * largest
    assert [d.memory_bytes for d in limited(problem, 7).devices] == [None, 7]


def test_plans_stand_beside_the_solvers_bound() -> None:
    keys = [("any", "0.7", name) for name in ROWS]
    table = Table("t", {}, ("model", "GPU holds", "plan"))
    solver, auto, free = fill(table, keys, lambda key: measured(key, table.rows, 20.0))
    for row in (solver, auto):
        assert max(row["MiB on GPU 0"], row["MiB on GPU 1"]) <= row["MiB"]
        assert row["above the bound %"] <= 10
    assert max(free["MiB on GPU 0"], free["MiB on GPU 1"]) > free["MiB"]
    assert solver["bound ms"] == auto["bound ms"] == free["bound ms"]
    assert free["makespan ms"] < auto["makespan ms"]
    assert solver["as segments ms"] is None
    assert free["as segments ms"] <= auto["as segments ms"]
