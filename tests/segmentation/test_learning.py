"""What measured segments teach about segments that were never measured."""

from __future__ import annotations

import random
import statistics
from itertools import pairwise

from surplus.engine.segmentation.groups import TaskGroup
from surplus.engine.segmentation.learning import carried_over, learn
from surplus.engine.segmentation.service import ServiceTimes

TASKS = 120
TRUE_BOUNDARY_NS = 4_000


def _chunks(cuts: list[int], width: int = 1) -> list[TaskGroup]:
    return [TaskGroup(tuple(range(a, b)), 0, width) for a, b in pairwise(cuts)]


def _every(step: int, offset: int = 0) -> list[int]:
    return sorted({0, TASKS, *range(offset, TASKS, step)})


def _truth(guess: list[int], rng: random.Random) -> ServiceTimes:
    """Regions of the model are off by their own factors, as caches and fusion make them."""
    true = [
        round(ns * (0.5 + (i // 15) % 4 * 0.5) * rng.uniform(0.9, 1.1))
        for i, ns in enumerate(guess)
    ]
    return ServiceTimes({(0, 1): true, (0, 2): [ns // 2 for ns in true]}, {}, TRUE_BOUNDARY_NS)


def _worlds() -> tuple[ServiceTimes, ServiceTimes]:
    rng = random.Random(7)
    guess = [rng.randint(2_000, 60_000) for _ in range(TASKS)]
    first = ServiceTimes({(0, 1): guess, (0, 2): [ns // 2 for ns in guess]}, {(0, 1): 0.9})
    return first, _truth(guess, rng)


def _error(service: ServiceTimes, truth: ServiceTimes, groups: list[TaskGroup]) -> float:
    return statistics.median(abs(service.of_group(g) / truth.of_group(g) - 1) for g in groups)


def test_groups_never_measured_are_predicted_better() -> None:
    guess, truth = _worlds()
    seen = [*_chunks(_every(TASKS)), *_chunks(_every(12)), *_chunks(_every(20, 7))]
    unseen = [*_chunks(_every(9, 4)), *_chunks(_every(30, 11))]
    assert not set(seen) & set(unseen)
    learned = learn(guess, {g: truth.of_group(g) for g in seen})
    assert _error(guess, truth, unseen) > 0.2
    assert _error(learned, truth, unseen) < 0.08


def test_noise_does_little_harm() -> None:
    guess, truth = _worlds()
    rng = random.Random(3)
    seen = [*_chunks(_every(TASKS)), *_chunks(_every(12)), *_chunks(_every(20, 7))]
    noisy = {g: round(truth.of_group(g) * rng.uniform(0.9, 1.1)) for g in seen}
    learned = learn(guess, noisy)
    assert _error(learned, truth, _chunks(_every(9, 4))) < 0.12


def test_what_was_measured_is_known_exactly() -> None:
    guess, _ = _worlds()
    group = TaskGroup((3, 4, 5), 0)
    learned = learn(guess, {group: 12_345})
    assert learned.of_group(group) == 12_345
    assert learned.of_group(TaskGroup((3, 4, 5), 0, 2)) == guess.of_group(
        TaskGroup((3, 4, 5), 0, 2)
    )


def test_boundaries_are_learned_from_small_segments() -> None:
    tiny = ServiceTimes({(0, 1): [100] * TASKS})
    true = ServiceTimes({(0, 1): [100] * TASKS}, boundary_ns=TRUE_BOUNDARY_NS)
    learned = learn(
        tiny, {g: true.of_group(g) for g in [*_chunks(_every(2)), *_chunks(_every(40))]}
    )
    assert 0.8 * TRUE_BOUNDARY_NS < learned.boundary_ns < 1.2 * TRUE_BOUNDARY_NS
    assert learned.wide_boundary_ns == tiny.wide_boundary_ns


def test_a_contradiction_leaves_boundaries_alone() -> None:
    """The whole model says slow, its parts say fast: neither is the fault of boundaries."""
    guess = ServiceTimes({(0, 1): [100_000] * TASKS})
    seen = {TaskGroup(tuple(range(TASKS)), 0): 30_000_000}
    seen |= dict.fromkeys(_chunks(_every(10)), 400_000)
    learned = learn(guess, seen)
    assert learned.boundary_ns < 2 * guess.boundary_ns
    assert 350_000 < learned.of_group(TaskGroup(tuple(range(5, 15)), 0)) < 450_000


def test_what_a_device_cannot_run_stays_unknown() -> None:
    guess = ServiceTimes({(0, 1): [10, 20], (1, 1): [None, 5]})
    learned = learn(guess, {TaskGroup((0, 1), 0): 2_000, TaskGroup((1,), 1): 700})
    assert learned.task_ns[1, 1][0] is None
    assert learned.widths(1) == [1]


def test_what_was_learned_counts_for_tasks_of_the_same_kind() -> None:
    guess = ServiceTimes({(0, 1): [100] * 4, (1, 1): [50] * 4})
    learned = learn(guess, {TaskGroup((0, 1), 0): 2 * 300 + guess.boundary_ns})
    kinds = ["Add", "Add", "Add", "Mul"]
    found = carried_over(learned, guess, kinds, 0).task_ns
    assert found[0, 1][:2] == learned.task_ns[0, 1][:2]
    assert found[0, 1][2] == learned.task_ns[0, 1][0] != 100
    assert found[0, 1][3] == 100
    assert found[1, 1] == guess.task_ns[1, 1]
