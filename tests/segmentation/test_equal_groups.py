"""Cuts are even, cross few tensors, and keep every task once."""

from __future__ import annotations

from itertools import combinations, pairwise
from pathlib import Path

import pytest

from surplus import models
from surplus.engine.errors import ConfigError
from surplus.engine.planning.stages import read_model
from surplus.engine.planning.whole_plan import whole_plan
from surplus.engine.scheduling.base_plan import BasePlanParams
from surplus.engine.scheduling.grouped_plan import one_group
from surplus.engine.scheduling.live_model import LiveModelParams, load_live_model
from surplus.engine.scheduling.parts import Parts
from surplus.engine.scheduling.setting_up import places
from surplus.engine.segmentation.equal_groups import CROSSING_COST, _crossing, cut
from surplus.engine.values import to_value
from tests.loops import COUNT_TEXT, ENDLESS, counted
from tests.scheduling.stage import CHAIN, saved

WAIT_S = 60.0


def test_best_of_all_cuts_of_a_small_model(tmp_path: Path) -> None:
    graph = read_model(saved(CHAIN, tmp_path), tmp_path / "cache")
    times = [1, 5, 2, 8, 3, 1, 4]
    order = range(7)
    crossing = _crossing(graph, order)

    def cost(places: tuple[int, ...]) -> float:
        sums = [sum(times[a:b]) / (sum(times) / 3) for a, b in pairwise((0, *places, 7))]
        extra = sum(max(0, crossing[place] - 1) for place in places)
        return float(sum((s - 1) ** 2 for s in sums) + CROSSING_COST * extra)

    found = cut(graph, order, times, 3)
    best = min(cost(places) for places in combinations(range(1, 7), 2))
    assert cost(tuple(first for first, _ in found[1:])) == pytest.approx(best)
    assert [found[0][0], *(end for _, end in found)] == [0, *(first for first, _ in found[1:]), 7]


@pytest.mark.parametrize("groups", [8, 16])
def test_a_network_is_cut_between_its_blocks(tmp_path: Path, groups: int) -> None:
    path = tmp_path / "mobilenet.onnx"
    models.save(models.build("mobilenet_v2", image_size=32), path)
    graph = read_model(path, tmp_path / "cache")
    order = range(len(graph.tasks))
    found = cut(graph, order, [100] * len(order), groups)
    sizes = [end - first for first, end in found]
    assert len(found) == groups
    assert max(sizes) <= 2 * len(graph.tasks) / groups
    assert all(_crossing(graph, order)[first] <= 2 for first, _ in found[1:])


def test_too_few_operators_are_named(tmp_path: Path) -> None:
    graph = read_model(saved(CHAIN, tmp_path), tmp_path / "cache")
    with pytest.raises(ConfigError, match="7 operators cannot be cut into 8"):
        cut(graph, range(7), [1] * 7, 8)


def test_slices_are_as_many_groups_as_none_longer_takes(tmp_path: Path) -> None:
    stage, cached = places("cpu:1", [1])[0], BasePlanParams(cache=tmp_path)
    whole = load_live_model("m", saved(CHAIN, tmp_path), stage, LiveModelParams(plan=cached))
    tight = LiveModelParams(slice_ns=1, plan=cached)
    single = load_live_model("m", saved(CHAIN, tmp_path), stage, tight)
    assert (whole.operators, single.operators) == (1, len(single.graph.tasks))
    roomy = LiveModelParams(slice_ns=10**12, plan=cached)
    assert load_live_model("m", saved(CHAIN, tmp_path), stage, roomy).operators == 1


def test_a_group_that_does_not_end_is_ended(tmp_path: Path) -> None:
    stage = places("cpu:1", [1])[0]
    graph = read_model(saved(COUNT_TEXT, tmp_path), tmp_path / "cache")
    whole = one_group(whole_plan(graph, stage.devices))
    part = Parts(graph, whole, whole, query_limit_ns=50_000_000).part(0, 1, stage)
    query = counted(ENDLESS)
    run = part.native.submit([to_value(query[name]) for name, _ in part.reads])
    assert run.wait(WAIT_S)
    assert run.status == "deadline"
