"""Abacus's controller: headroom, drops, partial queries, planning ahead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surplus.colocation import PolicySpec, simulate
from surplus.colocation.frame.predictor import PREDICTORS, Profiles, Services
from surplus.colocation.frame.query import Outcome
from surplus.colocation.frame.service import Service
from surplus.colocation.frame.work import Group, Piece
from surplus.colocation.predictors.serial import Serial
from surplus.colocation.results.validate import check_run
from surplus.colocation.simulation.simulator import Run, Setting
from surplus.colocation.truths.truth import Truth
from tests.colocation.settings import MS, load_of, service, setting_of

SAVED = 0.4


class Saving(Serial):
    """Knows that a group saves a share of its sum."""

    def group_ns(self, pieces: Sequence[Piece], share_percent: int) -> int:
        total_ns = super().group_ns(pieces, share_percent)
        return total_ns if len(pieces) == 1 else round(total_ns * (1 - SAVED))


@pytest.fixture(scope="module", autouse=True)
def _registered() -> None:
    PREDICTORS.register("test_saving")(Saving)


class SavingTruth:
    """The same, as the truth; a group of ``slow`` takes longer than anybody thinks."""

    def __init__(self, services: Services, profiles: Profiles, slow: float = 1.0) -> None:
        self._predictor = Saving(services, profiles)
        self._slow = slow

    def group_ns(self, group: Group, share_percent: int) -> int:
        return round(self._predictor.group_ns(group.pieces, share_percent) * self._slow)


def two(slo_ms: float = 100, operators: int = 10) -> list[Service]:
    return [service(name, slo_ms, operators=operators) for name in ("a", "b")]


def setting_for(
    services: list[Service],
    arrivals: Sequence[Sequence[float]],
    fixed_ms: Sequence[float] = (20, 20),
    slow: float = 1.0,
    **more: Any,
) -> Setting:
    setting = setting_of(services, load_of(services, arrivals), fixed_ms, **more)
    truth: Truth = SavingTruth(setting.demand.services, setting.demand.profiles, slow)
    return replace(setting, truth=truth)


def served(setting: Setting, **options: Any) -> Run:
    spec = PolicySpec("abacus", "abacus", options, predictor="test_saving")
    run = simulate(setting, spec)
    check_run(setting.load, setting.demand.services, run.deployment, run.record)
    return run


def groups(run: Run) -> list[tuple[int, list[tuple[int, int, int]]]]:
    """Start in ms, and (service, first, end operator) of each piece."""
    record = run.record
    rows: list[tuple[int, list[tuple[int, int, int]]]] = [
        (round(start / MS), []) for start in record.group_start_ns
    ]
    columns = (record.piece_group, record.piece_service, record.piece_start, record.piece_end)
    for group, *piece in zip(*columns, strict=True):
        rows[group][1].append(tuple(piece))
    return rows


def outcomes(run: Run) -> list[str]:
    return [Outcome(o).name for o in run.record.outcome]


def test_two_queries_run_side_by_side_if_the_urgent_one_has_time() -> None:
    run = served(setting_for(two(), [[0], [0]]))
    assert groups(run) == [(0, [(0, 0, 10)]), (20, [(1, 0, 10)])]
    run = served(setting_for(two(), [[0, 1], [1]]))
    assert groups(run)[1] == (20, [(0, 0, 10), (1, 0, 10)])
    assert list(run.record.group_predicted_ns)[1] == 24 * MS


def test_the_group_ends_at_the_headroom_and_the_rest_goes_on_later() -> None:
    services = [service("a", 70, operators=10), service("b", 100, operators=10)]
    run = served(setting_for(services, [[0, 1], [1]], fixed_ms=(30, 60)))
    # At 30 ms, 41 ms are left for the second of a: 0.6 x (30 + 6 x 6) = 39.6 ms, with 7 43.2 ms.
    assert groups(run)[1] == (30, [(0, 0, 10), (1, 0, 6)])
    assert groups(run)[2] == (70, [(1, 6, 10)])
    assert outcomes(run) == ["IN_TIME"] * 3


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, [(0, 0, 10), (1, 0, 6)]),
        ({"rounds": 0}, [(0, 0, 10)]),
        ({"overlap": False}, [(0, 0, 10)]),
        ({"margin_ns": 4 * MS}, [(0, 0, 10), (1, 0, 5)]),
    ],
)
def test_what_can_be_left_out(options: dict[str, Any], wanted: list[tuple[int, int, int]]) -> None:
    services = [service("a", 70, operators=10), service("b", 100, operators=10)]
    run = served(setting_for(services, [[0, 1], [1]], fixed_ms=(30, 60)), **options)
    assert groups(run)[1] == (30, wanted)


def test_who_misses_even_alone_is_dropped_or_not() -> None:
    services = two(slo_ms=35)
    setting = setting_for(services, [[0, 1, 2], []])
    assert outcomes(served(setting)) == ["IN_TIME", "DROPPED", "DROPPED"]
    run = served(setting, drop=False)
    assert outcomes(run) == ["IN_TIME", "LATE", "LATE"]
    record = served(setting).record
    assert record.predicted_end_ns[1] == 40 * MS


def test_a_plan_made_ahead_starts_at_once_and_counts_what_still_runs() -> None:
    setting = setting_for(two(), [[0, 1], [1]])
    plain, ahead = served(setting), served(setting, pipelined=True)
    assert groups(ahead) == groups(plain)
    # Eq. 3: at 1 ms the second of a has 100 ms, of which 19 go to what runs.
    assert outcomes(ahead) == ["IN_TIME"] * 3


def test_thinking_is_hidden_behind_a_group_if_pipelined() -> None:
    setting = setting_for(two(), [[0, 1], [1]])
    late = served(setting, thinking_ns=2 * MS)
    hidden = served(setting, thinking_ns=2 * MS, pipelined=True)
    assert [start for start, _ in groups(late)] == [2, 24]
    assert [start for start, _ in groups(hidden)] == [2, 22]


def test_a_plan_is_renewed_when_somebody_comes() -> None:
    setting = setting_for(two(), [[0, 1], [10]])
    once = served(setting, pipelined=True, renew=False)
    renewed = served(setting, pipelined=True)
    assert groups(once)[1] == (20, [(0, 0, 10)])
    assert groups(renewed)[1] == (20, [(0, 0, 10), (1, 0, 10)])


TIMES = st.lists(st.integers(0, 150), max_size=15)


@given(
    arrivals=st.tuples(TIMES, TIMES),
    slo_ms=st.integers(30, 120),
    devices=st.integers(1, 2),
    slow=st.sampled_from([0.7, 1.0, 1.3]),
    failures=st.frozensets(st.integers(0, 6)),
    pipelined=st.booleans(),
    renew=st.booleans(),
    thinking_ns=st.sampled_from([0, 3 * MS]),
)
@settings(max_examples=60, deadline=None)
def test_no_group_is_predicted_beyond_its_headroom(
    arrivals: tuple[list[int], list[int]],
    slo_ms: int,
    devices: int,
    slow: float,
    failures: frozenset[int],
    pipelined: bool,
    renew: bool,
    thinking_ns: int,
) -> None:
    times = [sorted(row) for row in arrivals]
    more: dict[str, Any] = {"devices": devices, "failures": failures}
    setting = setting_for(two(slo_ms), times, (20, 30), slow, **more)
    run = served(setting, pipelined=pipelined, renew=renew, thinking_ns=thinking_ns)
    assert "UNFINISHED" not in outcomes(run)
    record = run.record
    if pipelined or slow > 1:
        return  # a plan made ahead begins when the group before it has really ended
    for piece, group in enumerate(record.piece_group):
        query = record.piece_query[record.piece_first[piece]]
        end_ns = record.group_start_ns[group] + record.group_predicted_ns[group]
        assert end_ns <= setting.load.deadline_ns[query]


@pytest.mark.parametrize("option", ["margin_ns", "thinking_ns"])
def test_negative_times_are_refused(option: str) -> None:
    with pytest.raises(ValueError, match="must be >= 0"):
        served(setting_for(two(), [[0], []]), **{option: -1})
