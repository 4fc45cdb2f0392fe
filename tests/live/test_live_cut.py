"""Cuts are even, cross few tensors, and keep every task once."""

from __future__ import annotations

from itertools import combinations, pairwise
from pathlib import Path

import pytest
from live_stage import CHAIN, saved

import models
from engine.errors import ConfigError
from engine.live.cut import CROSSING_COST, _crossing, cut
from engine.pipeline.stages import read_model


def test_best_of_all_cuts_of_a_small_model(tmp_path: Path) -> None:
    graph = read_model(saved(CHAIN, tmp_path), tmp_path / "cache")
    times = [1, 5, 2, 8, 3, 1, 4]
    crossing = _crossing(graph)

    def cost(places: tuple[int, ...]) -> float:
        sums = [sum(times[a:b]) / (sum(times) / 3) for a, b in pairwise((0, *places, 7))]
        extra = sum(max(0, crossing[place] - 1) for place in places)
        return float(sum((s - 1) ** 2 for s in sums) + CROSSING_COST * extra)

    found = cut(graph, times, 3)
    best = min(cost(places) for places in combinations(range(1, 7), 2))
    assert cost(tuple(tasks[0] for tasks in found[1:])) == pytest.approx(best)
    assert [task for tasks in found for task in tasks] == list(range(7))


@pytest.mark.parametrize("groups", [8, 16])
def test_a_network_is_cut_between_its_blocks(tmp_path: Path, groups: int) -> None:
    path = tmp_path / "mobilenet.onnx"
    models.save(models.build("mobilenet_v2", image_size=32), path)
    graph = read_model(path, tmp_path / "cache")
    found = cut(graph, [100] * len(graph.tasks), groups)
    sizes = [len(tasks) for tasks in found]
    assert len(found) == groups
    assert max(sizes) <= 2 * len(graph.tasks) / groups
    assert all(_crossing(graph)[tasks[0]] <= 2 for tasks in found[1:])


def test_too_few_operators_are_named(tmp_path: Path) -> None:
    graph = read_model(saved(CHAIN, tmp_path), tmp_path / "cache")
    with pytest.raises(ConfigError, match="7 operators cannot be cut into 8"):
        cut(graph, [1] * 7, 8)
