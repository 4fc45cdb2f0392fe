"""Which plans are compared first."""

from __future__ import annotations

import pytest
from tuning_world import GUESS, PROBLEM, cut

from engine.pipeline.first_plans import affordable, first_plans, whole_models
from engine.pipeline.stages import Costs
from engine.segmentation.segmenter import Candidate
from engine.segmentation.service import ServiceTimes

MS = 1_000_000


def _names(plans: list[Candidate]) -> list[str]:
    return [plan.name for plan in plans]


def test_whole_models_come_first_and_one_cut_of_each_kind() -> None:
    names = _names(first_plans(cut(GUESS), 4))
    assert names[:2] == ["whole x1", "whole x2"]
    kinds = [name.rpartition(" ")[0] for name in names[2:]]
    assert len(kinds) == 3
    assert len(set(kinds)) == 3


@pytest.mark.parametrize(
    ("time_ms", "expected"),
    [
        # Narrow 28.1 ms, wide 14.1 ms, the cuts 14.1 ms; each is run four times at least.
        (0, ["whole x2", "cut"]),
        (2 * 4 * 15, ["whole x2", "cut"]),
        (3 * 4 * 15, ["whole x2", "cut", "cut"]),
        (3 * 4 * 15 + 4 * 29, ["whole x1", "whole x2", "cut", "cut"]),
    ],
)
def test_long_queries_leave_time_for_few(time_ms: int, expected: list[str]) -> None:
    plans = affordable(first_plans(cut(GUESS), 3), time_ms * MS)
    assert [p.name if p.is_trivial else "cut" for p in plans] == expected


def test_whole_models_of_about_equal_times_are_all_compared() -> None:
    narrow = GUESS.task_ns[0, 1]
    even = ServiceTimes({(0, 1): narrow, (0, 2): [round(ns * 0.7) for ns in narrow if ns]})
    assert _names(affordable(first_plans(cut(even), 3), 0)) == ["whole x1", "whole x2"]


def test_whole_models_of_devices_that_can_run_everything() -> None:
    two = type(PROBLEM)(
        PROBLEM.name,
        (*PROBLEM.devices, type(PROBLEM.devices[0])("gpu", 1)),
        (),
        tuple(
            type(t)(t.name, t.kind, (t.service_ns[0], 7 if i else None))
            for i, t in enumerate(PROBLEM.tasks)
        ),
        PROBLEM.tensors,
    )
    costs = Costs(two, ServiceTimes.of(two))
    assert _names(whole_models(costs)) == ["whole x1"]
    able = ServiceTimes({**costs.service.task_ns, (1, 1): [7] * len(two.tasks)})
    assert _names(whole_models(Costs(two, able))) == ["whole x1", "whole x1 on gpu"]
