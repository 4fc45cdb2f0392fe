"""The simulator decides as the core does: both in the same random states."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from surplus.colocation.policies.core_order.least_urgent import Computing, least_urgent
from surplus.colocation.policies.core_order.ready_runs import FreeLanes, ReadyNode, ReadyRuns
from surplus.colocation.policies.core_order.run_order import run_order
from surplus.engine import _core

MINUTE_NS = 60_000_000_000
NOW_NS = 10**15
PRIORITIES = (-3, 0, 7)
LANES = {(1, ()): 25_000, (2, ()): 25_000, (2, (3,)): 25_000, (4, (0, 2, 5)): 25_000}
"""FreeLanes, in how many and a half minutes the taken ones come free: states of each."""

US = 1_000


def taken_by_the_twin(rows: Sequence[Sequence[int]], lanes: int, taken: Sequence[int]) -> list[int]:
    """As ``_core.taken_first`` of one state."""
    runs: ReadyRuns[int] = ReadyRuns()
    for place, (_, priority, best_effort, is_due, due, takes, width, has_begun) in enumerate(rows):
        due_ns = NOW_NS + due * MINUTE_NS + MINUTE_NS // 2 if is_due else None
        order = run_order(priority, bool(best_effort), due_ns, place)
        whole_ns = 0 if has_begun else 2 * takes * MINUTE_NS
        runs.add(ReadyNode(order, place, takes * MINUTE_NS, whole_ns, width))
    ends_ns = [NOW_NS + minutes * MINUTE_NS + MINUTE_NS // 2 for minutes in taken]
    found = []
    while (node := runs.take(NOW_NS, FreeLanes(lanes - len(taken), ends_ns))) is not None:
        found.append(node.what)
    return [*found, -1]


@pytest.mark.parametrize(("lanes", "taken"), LANES)
def test_nodes_are_taken_in_the_same_order(lanes: int, taken: tuple[int, ...]) -> None:
    draw = np.random.default_rng(lanes + 10 * len(taken))
    states = LANES[lanes, taken]
    sizes = draw.integers(1, 9, states)
    count = int(sizes.sum())
    rows = np.stack(
        [
            np.repeat(np.arange(states), sizes),
            draw.choice(PRIORITIES, count, p=(0.1, 0.8, 0.1)),
            draw.random(count) < 0.2,
            draw.random(count) < 0.8,
            draw.integers(-2, 9, count),
            draw.integers(1, 4, count),
            np.where(draw.random(count) < 0.2, draw.integers(1, lanes + 1, count), 1),
            draw.random(count) < 0.3,
        ],
        axis=1,
    ).astype(np.int64)
    found = _core.taken_first(lanes, list(taken), rows)
    ends = np.cumsum(sizes)
    own = [
        place
        for first, end in zip(ends - sizes, ends, strict=True)
        for place in taken_by_the_twin(rows[first:end].tolist(), lanes, taken)
    ]
    assert found == own


def test_the_same_lane_is_lent() -> None:
    draw = np.random.default_rng(3)
    states = 100_000
    sizes = draw.integers(2, 6, states)
    count = int(sizes.sum())
    arrivals = np.concatenate([draw.permutation(size) for size in sizes])
    rows = np.stack(
        [
            np.repeat(np.arange(states), sizes),
            draw.choice(PRIORITIES, count, p=(0.1, 0.8, 0.1)),
            draw.random(count) < 0.1,
            draw.random(count) < 0.8,
            NOW_NS + draw.choice([-2, -1, 0, 1, 2, 600 * US, 604 * US, 605 * US, 5 * 10**9], count),
            arrivals,
            NOW_NS + draw.choice([-9, 149 * US, 150 * US, 151 * US, 10**9], count),
        ],
        axis=1,
    ).astype(np.int64)
    ends = np.cumsum(sizes)
    own = []
    for first, end in zip(ends - sizes, ends, strict=True):
        runs = [
            (run_order(priority, bool(best), due_ns if is_due else None, arrival), end_ns)
            for _, priority, best, is_due, due_ns, arrival, end_ns in rows[first:end].tolist()
        ]
        lender = least_urgent(runs[0][0], [Computing(*run) for run in runs[1:]], NOW_NS)
        own.append(-1 if lender is None else lender)
    assert _core.lent_lanes(rows, NOW_NS) == own
    assert len(set(own)) == 5


def test_what_is_not_a_state_is_refused() -> None:
    rows = np.zeros((1, 8), np.int64)
    for lanes, taken in ((0, []), (1, [3]), (2, [1, 1])):
        with pytest.raises(ValueError, match="one lane at least must be free"):
            _core.taken_first(lanes, taken, rows)
    with pytest.raises(ValueError, match="eight columns"):
        _core.taken_first(1, [], rows[:, :7].copy())
    with pytest.raises(ValueError, match="seven columns"):
        _core.lent_lanes(rows, NOW_NS)
