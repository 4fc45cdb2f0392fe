"""Groups on the core: batches, pieces, lanes and failures."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from surplus.colocation.frame.service import Partition
from surplus.colocation.frame.work import Group
from surplus.colocation.live.executor import Ended
from surplus.engine.devices.emulation_params import EmulationParams
from surplus.engine.errors import ConfigError
from surplus.engine.scheduling.grouped_plan import GroupedPlan, cut_at
from tests.scheduling.stage import CHAIN, FIXED, Stage, piece

DEVICES = ("cpu:2", "emulated:gpu:2")


@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize("operators", [1, 4])
def test_a_batch_answers_each_query(tmp_path: Path, devices: str, operators: int) -> None:
    stage = Stage(tmp_path, [CHAIN], [operators], devices)
    queries = [stage.query(0), stage.query(1, items=3), stage.query(2)]
    assert stage.run(piece(queries, 0, operators)) == ""
    stage.expect(*queries)


@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize("cuts", [(0, 1, 4), (0, 2, 3, 4), (0, 1, 2, 3, 4)])
def test_a_query_rests_between_pieces(tmp_path: Path, devices: str, cuts: tuple[int, ...]) -> None:
    stage = Stage(tmp_path, [CHAIN], [4], devices)
    batch, other = [stage.query(0), stage.query(1)], [stage.query(2)]
    for start, end in pairwise(cuts):
        assert stage.answers == {}
        assert stage.run(piece(batch, start, end)) == ""
        if end < 4:
            assert stage.run(piece(other, start, end), partition=1) == ""
    stage.expect(*batch)
    assert stage.run(piece(other, cuts[-2], 4)) == ""
    stage.expect(*other)


@pytest.mark.parametrize("cuts", [(0, 3), (0, 1, 3), (0, 2, 3), (0, 1, 2, 3)])
def test_a_query_rests_between_groups_over_cpu_and_gpu(
    tmp_path: Path, cuts: tuple[int, ...]
) -> None:
    stage = Stage(tmp_path, [CHAIN], [1], "cpu:1,emulated:gpu:2")
    host, gpu = 0, 1
    model = stage.models[0]
    plan = cut_at(
        model.graph, model.parts.whole.plan, [(0, 1), (1, 3), (3, 4), (4, 5), (5, 6), (6, 7)]
    ).plan
    rows = zip(plan.segments, (gpu, host, gpu, host, gpu, host), strict=True)
    segments = tuple(replace(segment, device=device) for segment, device in rows)
    model.parts.grouped = GroupedPlan(replace(plan, segments=segments), (0, 0, 1, 2, 2, 2))
    batch = [stage.query(0), stage.query(1)]
    for start, end in pairwise(cuts):
        assert stage.answers == {}
        assert stage.run(piece(batch, start, end)) == ""
    stage.expect(*batch)


def test_queries_that_go_on_in_another_company_are_answered(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [CHAIN], [4])
    first, second = stage.query(0), stage.query(1)
    assert stage.run(piece([first, second], 0, 2)) == ""
    assert stage.run(piece([second], 2, 4)) == ""
    assert stage.run(piece([first], 2, 3)) == ""
    assert stage.run(piece([first], 3, 4)) == ""
    stage.expect(first, second)
    assert stage.backend._kept == {}


def test_a_model_without_a_batch_axis_computes_one_query_after_the_other(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [CHAIN, FIXED], [1, 2])
    assert [model.stackable for model in stage.models] == [True, False]
    queries = [stage.query(k, service=1) for k in range(3)]
    assert stage.run(piece(queries, 0, 1)) == ""
    assert stage.run(piece(queries, 1, 2)) == ""
    assert {k: answer["y"].shape for k, answer in stage.answers.items()} == {
        0: (2, 3),
        1: (2, 3),
        2: (2, 3),
    }


def test_pieces_of_one_group_end_together(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [CHAIN, CHAIN.replace("chain", "other")], [4, 2])
    stage.backend.prepare([Partition(0, 100)])
    mine, theirs = [stage.query(0)], [stage.query(1, service=1)]
    assert stage.run(piece(mine, 0, 4), piece(theirs, 0, 1)) == ""
    assert stage.run(piece(theirs, 1, 2)) == ""
    stage.expect(*mine, *theirs)


def test_a_group_runs_on_as_many_lanes_as_it_claims(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [CHAIN], [1])
    stage.backend.prepare([Partition(0, 100, cores=2)] * 2)
    queries = [stage.query(k) for k in range(3)]
    for cores, own in ((1, queries[:1]), (2, queries[1:])):
        stage.backend.start(Group(cores, 0, (piece(own, 0, 1),), 0, 0, cores))
        assert [ended.error for ended in stage.backend.wait(None)] == [""]
    stage.expect(*queries)
    widths = {key[3] for key in stage.models[0].parts._known}
    assert widths == {1, 2}


def test_a_failed_group_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    emulation = EmulationParams(fail_every=1)
    stage = Stage(tmp_path, [CHAIN], [4], "emulated:gpu:2", emulation=emulation)
    assert "fail" in stage.run(piece([stage.query(0)], 0, 4))
    assert stage.backend._kept == {}
    assert stage.backend._runs == {}


def test_wrong_inputs_fail_their_group_alone(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [CHAIN], [1])
    bad, good = stage.query(0), stage.query(1)
    stage.inputs[0] = {"x": stage.inputs[0]["x"][:, :2]}
    assert stage.run(piece([bad, good], 0, 1)) != ""
    assert stage.run(piece([good], 0, 1)) == ""
    stage.expect(good)


def test_groups_in_two_partitions_are_in_flight_together(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [CHAIN], [4])
    groups = [
        Group(k, k, (piece([stage.query(k)], 0, 4),), start_ns=0, predicted_ns=0) for k in (0, 1)
    ]
    for group in groups:
        stage.backend.start(group)
    ended: list[Ended] = []
    while len(ended) < 2:
        ended += stage.backend.wait(None)
    assert {done.group.id for done in ended} == {0, 1}
    assert stage.backend.wait(0) == []


def test_shares_of_a_cpu_are_whole_lanes(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [CHAIN], [1])
    with pytest.raises(ConfigError, match="40 % of 2 lanes"):
        stage.backend.prepare([Partition(0, 40)])
