"""Groups of several pieces on lanes: how long they take, as predicted and as the truth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from surplus.colocation import read_scenario
from surplus.colocation.frame import lane_groups
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.service import Service
from surplus.colocation.frame.work import Group, Piece, piece_of
from surplus.colocation.interference.pairwise import Pairwise
from surplus.colocation.predictors.lanes import LanesPredictor
from surplus.colocation.profiles.table import Table
from surplus.colocation.truths.lanes_truth import LanesTruth
from surplus.colocation.truths.truth import HostedTruth, ProfileTruth
from tests.colocation.settings import MS, service

SCENARIO = Path(__file__).parents[2] / "bench/configs/colocation/live/two_cpu.toml"

LANE_MS, DEVICE_MS = (10.0, 30.0, 40.0), (6.0, 16.0, 24.0)
"""Time of each service on one lane of two, and on both."""


class OnLanes:
    """A profile that knows one lane of two and both."""

    def __init__(self, lane_ms: float, device_ms: float) -> None:
        self._table = Table((1,), {"25": (2 * lane_ms,), "50": (lane_ms,), "100": (device_ms,)})

    def latency_ns(self, items: int, sequence: int, share_percent: int) -> int:
        return self._table.latency_ns(items, sequence, share_percent)

    def spread(self, items: int, sequence: int) -> float:
        return 0.0


def pieces(*services: int) -> tuple[Piece, ...]:
    return tuple(piece_of((Query(k, own, 0, 0, 0),), 0, 2) for k, own in enumerate(services))


def parts() -> tuple[tuple[Service, ...], tuple[OnLanes, ...]]:
    services = tuple(service(name, operators=2) for name in "abc")
    profiles = tuple(map(OnLanes, LANE_MS, DEVICE_MS))
    return services, profiles


def truth(extra: float = 0.0) -> LanesTruth:
    services, profiles = parts()
    alone = ProfileTruth(services, profiles, lambda draw, spread: 1.0, 1)
    return LanesTruth(alone, 2, Pairwise("abc", extra) if extra else None)


@pytest.mark.parametrize(
    ("services", "ms"),
    [
        ((0,), 6.0),  # alone on both lanes
        ((0, 1), 30.0),  # a lane each
        ((0, 1, 2), 50.0),  # the third waits for a lane until the first has ended
        ((2, 2), 40.0),
    ],
)
def test_pieces_take_lanes_as_they_get_free(services: Sequence[int], ms: float) -> None:
    group = Group(0, 0, pieces(*services), 0, 0)
    assert truth().group_ns(group, 100) == round(ms * MS)
    predictor = LanesPredictor(*parts(), lanes=2)
    assert predictor.group_ns(group.pieces, 100) == round(ms * MS)


def test_one_lane_runs_pieces_one_after_the_other() -> None:
    assert truth().group_ns(Group(0, 0, pieces(0, 1), 0, 0), 50) == 40 * MS


def test_neighbours_cost_only_while_they_run() -> None:
    took_ns = truth(0.5).group_ns(Group(0, 0, pieces(0, 1), 0, 0), 100)
    assert took_ns == 15 * MS + 20 * MS  # 10 of the 30 ms are done when the first ends at 15


def test_wide_pieces_share_the_lanes_that_are_left() -> None:
    widths: list[int] = []

    def alone(piece: Piece, width: int) -> int:
        widths.append(width)
        return 12 * MS // width

    assert lane_groups.group_ns(pieces(0, 1), 4, alone) == 6 * MS
    assert lane_groups.group_ns(pieces(0, 1, 2), 4, alone) == 12 * MS
    assert widths == [2, 2, 1, 1, 1]


def test_each_piece_takes_one_stream_of_a_gpu() -> None:
    services, profiles = parts()
    alone = ProfileTruth(services, profiles, lambda draw, spread: 1.0, 1)
    group = Group(0, 0, pieces(0, 1), 0, 0)
    assert LanesTruth(alone, 4).group_ns(group, 100) == 30 * MS
    assert LanesTruth(alone, 4, widest=1).group_ns(group, 100) == 60 * MS
    assert LanesPredictor(services, profiles, 4, widest=1).group_ns(group.pieces, 100) == 60 * MS


def test_a_host_delays_every_group() -> None:
    group = Group(0, 0, pieces(0), 0, 0)
    assert HostedTruth(truth(), 5).group_ns(group, 100) == 6 * MS + 5
    with pytest.raises(ValueError, match="host_ns"):
        HostedTruth(truth(), -1)


def test_what_cannot_be_side_by_side_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="two lanes or more, got 1"):
        LanesTruth(truth(), 1)
    with pytest.raises(ValueError, match="lanes and widest must be >= 1, got 0"):
        LanesPredictor(*parts(), lanes=0)
    with pytest.raises(ValueError, match="got 2 and 0"):
        LanesPredictor(*parts(), lanes=2, widest=0)
    text = SCENARIO.read_text().replace("two_cpu.profile", f"{SCENARIO.parent}/two_cpu.profile")
    one = tmp_path / "one_lane.toml"
    one.write_text(text.replace("lanes = 2\n", "lanes = 1\n", 1))
    with pytest.raises(ValueError, match="two or more, got \\[1\\]"):
        read_scenario(one)
    one.write_text(text.replace('"lanes"\n', '"rows"\n', 1))
    with pytest.raises(ValueError, match="side_by_side: invalid enum value 'rows'"):
        read_scenario(one)


def test_a_scenario_says_that_groups_run_side_by_side() -> None:
    scenario = read_scenario(SCENARIO)
    group = Group(0, 0, pieces(0, 1), 0, 0)
    group = group._replace(pieces=tuple(p._replace(end=8) for p in group.pieces))
    alone = [group._replace(pieces=(piece,)) for piece in group.pieces]
    took = scenario.setting().truth
    assert took.group_ns(group, 100) >= max(took.group_ns(own, 50) for own in alone)
