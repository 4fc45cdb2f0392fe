import pytest

from surplus.placement import ContradictionError, lower_bounds, make_policy, simulate
from surplus.placement.random_graphs import DetectorParams, detector, inception
from surplus.placement.study import StudyProblem, performance_profiles, study, summary

POLICIES = ("single", "heft", "best")
INSTANCES = [
    StudyProblem("d0", "detector", detector(0, DetectorParams(10, 1, 8, 2))),
    StudyProblem("d1", "detector", detector(1, DetectorParams(10, 1, 8, 2))),
    StudyProblem("i0", "inception", inception(0, 4)),
]


def test_rows_are_what_policies_and_simulator_say() -> None:
    counts: list[int] = []
    rows = study(INSTANCES, POLICIES, counts.append)
    assert counts == [1, 2, 3]
    assert [(r.problem, r.policy) for r in rows] == [
        (i.name, p) for i in INSTANCES for p in POLICIES
    ]
    for row in rows:
        problem = next(i.problem for i in INSTANCES if i.name == row.problem)
        placed = make_policy(row.policy).place(problem)
        assert row.makespan_ns == simulate(problem, placed).makespan_ns
        assert row.bound_ns == lower_bounds(problem).makespan_ns
        assert row.over_bound >= 1


def test_a_profile_ends_at_all_problems_and_the_best_begins_at_one() -> None:
    rows = study(INSTANCES, POLICIES)
    profiles = performance_profiles(rows)
    for steps in profiles.values():
        factors, shares = zip(*steps, strict=True)
        assert list(factors) == sorted(factors)
        assert shares[-1] == 1
    assert profiles["best"][0][0] == 1  # it asks the two others, and sweeps a threshold
    (best,) = [line for line in summary(rows) if line["policy"] == "best"]
    assert best["best, share"] == 1
    assert best["over bound, median"] <= best["worst"]


def test_a_bound_above_a_plan_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surplus.placement.bounds.Bounds.makespan_ns", 10**15)
    with pytest.raises(ContradictionError, match="d0, single"):
        study(INSTANCES, POLICIES)
