"""What measured groups are seen to save."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import pytest

from surplus.colocation.clairvoyant.sampled_floor import sampled_saving
from surplus.colocation.frame.planner import Demand
from surplus.colocation.overlap.features import Layout, Parts
from surplus.colocation.overlap.group_times import GroupTimes, Time
from tests.colocation.settings import load_of, service, setting_of

NS = 1_000_000


class Groups:
    """Each operator of an item takes 1 ms; what a group takes of its parts is a law."""

    def __init__(self, law: Callable[[Sequence[float]], float], fixed_ns: float = 0.0) -> None:
        self.layout = Layout(("a", "b"), (4, 4), 2)
        self._law = law
        self._fixed_ns = fixed_ns

    def of(self, parts: Parts) -> Time:
        alone = [self._fixed_ns + (p.end - p.start) * p.items * NS for p in parts]
        return Time(self._law(alone), 0.0)


def demand() -> Demand:
    services = [service(name, 500, max_batch=4, operators=4) for name in "ab"]
    return setting_of(services, load_of(services, [[0], [1]]), [0, 0], [4, 4]).demand


def saving(groups: Groups) -> float:
    return sampled_saving(demand(), cast(GroupTimes, groups))


def test_groups_that_take_their_sum_save_nothing() -> None:
    assert saving(Groups(sum)) == pytest.approx(0.0, abs=1e-9)


def test_groups_that_take_their_longest_part_save_half_at_most() -> None:
    assert saving(Groups(max)) == pytest.approx(0.5, abs=1e-9)


def test_what_every_part_costs_is_no_saving() -> None:
    assert saving(Groups(sum, fixed_ns=NS)) == 0.0


def test_the_sample_is_seeded() -> None:
    times = cast(GroupTimes, Groups(max))
    assert sampled_saving(demand(), times, 3) == sampled_saving(demand(), times, 3)
