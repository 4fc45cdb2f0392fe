"""Table 7 on emulated GPUs: one GPU's profile on several, and what is counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any, ClassVar

import pytest

from bench.infrastructure import result_file
from bench.infrastructure.resumable import Table
from bench.profiles import profile_path
from bench.sir import on_gpus, several_gpus, throughput, throughput_live
from bench.sir.several_gpus import PROFILED, best, devices_of, on_several, whole_on_a_gpu
from bench.sir.throughput import CONTENDERS, EACH, GPUS, ONE, WHOLE, rows
from bench.sir.throughput_live import of_one
from surplus import models
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.planning.stages import Costs, read_model
from surplus.engine.profiling.profile import Profile
from surplus.engine.segmentation.service import ServiceTimes
from tests.constant_costs import constant_problem

CPU_NS, GPU_NS = 3_000_000, 1_000_000


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    path = models.save(models.build("chain", length=8, size=8), tmp_path / "m.onnx")
    return read_model(path, tmp_path)


@pytest.fixture
def small(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain in the place of every detector: each task on a GPU three times as fast."""

    def costs_on(model: str, lanes: int, gpus: int) -> Costs:
        problem = constant_problem(graph, parse_devices(devices_of(lanes, gpus)))
        times = (CPU_NS, *[GPU_NS] * gpus)
        tasks = tuple(replace(t, service_ns=times, default_device=1) for t in problem.tasks)
        problem = replace(problem, tasks=tasks)
        return Costs(problem, replace(ServiceTimes.of(problem), problem=problem))

    monkeypatch.setattr(several_gpus, "graph_of", lambda _: graph)
    monkeypatch.setattr(throughput, "costs_on", costs_on)


def test_each_gpu_costs_what_the_profiled_one_does() -> None:
    profile = Profile.load(profile_path("ssd"))
    wide = on_several(profile, 3)
    names = [f"{PROFILED}{number}" for number in range(3)]
    assert [device.name for device in wide.devices] == ["cpu", *names]
    pairs = {(link.source, link.target): link for link in wide.links}
    assert set(pairs) == set(permutations(["host", *names], 2))
    up = next(link for link in profile.links if link.target == PROFILED)
    assert {pairs["host", name].copy_ns(1 << 20) for name in names} == {up.copy_ns(1 << 20)}
    for task in profile.tasks:
        for name in names:
            assert wide.service_ns(task.name, name) == profile.service_ns(task.name, PROFILED)
    assert wide.device(names[2]).memory == names[2]


@pytest.mark.usefixtures("small")
def test_one_process_lets_through_what_a_process_a_gpu_does() -> None:
    found = [best("any", throughput.costs_on("any", gpus, gpus)) for gpus in (1, 2, 4)]
    assert [one.copies for one in found] == [1, 2, 4]
    whole = whole_on_a_gpu("any", throughput.costs_on("any", 1, 1))
    assert found[0].per_s > whole.per_s
    assert found[1].per_s >= 1.95 * found[0].per_s
    assert found[2].per_s >= 3.8 * found[0].per_s


@pytest.mark.usefixtures("small")
def test_rows_say_what_several_gpus_are_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(result_file, "RESULTS", tmp_path)
    keys = [("faster_rcnn", gpus, contender) for gpus in GPUS for contender in CONTENDERS]
    table = Table("t", {}, ("model", "GPUs", "contender"))
    found = {table.key_of(row): row for row in rows(table, keys, 1)}
    assert set(found) == set(keys)
    for contender in (WHOLE, EACH):
        assert found["faster_rcnn", "4", contender]["of one GPU's"] == pytest.approx(4)
        assert found["faster_rcnn", "2", contender]["copies"] == 2
    assert found["faster_rcnn", "4", EACH]["paper/s (PF2)"] == 77.3
    assert found["faster_rcnn", "4", ONE]["paper/s (PF2)"] == "-"


class Ended:
    """A future of a query that has ended."""

    def __init__(self, ended: list[int]) -> None:
        self._ended = ended

    def result(self) -> None:
        self._ended.append(1)


class Fake:
    """Answers at once."""

    def __init__(self) -> None:
        self.asked = 0
        self.ended: list[int] = []

    def submit(self, inputs: Mapping[str, Any], /) -> Any:
        self.asked += 1
        assert self.asked - len(self.ended) <= 4
        return Ended(self.ended)


def test_so_many_queries_wait_and_all_of_them_end() -> None:
    fake = Fake()
    assert on_gpus.per_s(fake, {}, 4, 0.01) > 0
    assert len(fake.ended) == fake.asked > 8


class FakeProcess:
    """Answers 10 queries a second and GPU, as ``on_gpus`` says it."""

    started: ClassVar[list[tuple[str, ...]]] = []

    def __init__(self, module: str, *words: str) -> None:
        self.started.append(words)
        self._per_s = 10.0 * int(words[2])
        self.first = {"planned": 2 * self._per_s, "copies": int(words[2])}

    def ask(self, **request: float) -> dict[str, float]:
        return {"per_s": self._per_s}

    def end(self) -> None:
        pass


def test_a_process_a_gpu_is_so_many_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throughput_live, "ContenderProcess", FakeProcess)
    keys = [
        ("ssd", gpus, contender)
        for gpus in GPUS
        for contender in (throughput_live.EACH, throughput_live.ONE)
    ]
    found = of_one([throughput_live.measured(key, 1, 1.0) for key in keys])
    assert FakeProcess.started[-5:] == [("ssd", "1", "1", "whole")] * 4 + [
        ("ssd", "1", "4", "best")
    ]
    assert [row["of one GPU's"] for row in found] == [1, 1, 2, 2, 4, 4]
    assert {row["measured/planned"] for row in found} == {0.5}
