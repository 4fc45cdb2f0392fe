from dataclasses import replace

import pytest

from surplus.placement import make_policy, simulate
from surplus.placement.noise import NoiseParams, NoisyProblem
from surplus.placement.placement import Placement
from surplus.placement.problem import Device, Problem, Task, Tensor
from surplus.placement.random_graphs import DetectorParams, detector

SMALL = DetectorParams(10, 2, 12, 3)


def _chain(*times_ns: int, spread_ns: tuple[int, ...] = ()) -> Problem:
    tasks = tuple(Task(f"t{i}", "Op", (t,), spread_ns=spread_ns) for i, t in enumerate(times_ns))
    tensors = tuple(Tensor(f"x{i}", i, (i + 1,), 8) for i in range(len(times_ns) - 1))
    return Problem("chain", (Device("cpu"),), (), tasks, tensors)


def test_without_deviation_a_promise_is_the_makespan() -> None:
    problem = detector(1, SMALL)
    placement = make_policy("heft").place(problem)
    promise = NoisyProblem(problem, NoiseParams(0.0, samples=3)).promise(placement)
    makespan_ns = simulate(problem, placement).makespan_ns
    assert promise.mean_ns == promise.p50_ns == promise.p99_ns == makespan_ns


def test_times_keep_their_mean_and_have_the_deviation_that_is_asked_for() -> None:
    problem, placement = _chain(1_000_000), Placement((0,), (0,), "hand")
    found = NoisyProblem(problem, NoiseParams(0.3, samples=4_000)).makespans_ns(placement)
    assert found.mean() == pytest.approx(1_000_000, rel=0.03)
    assert found.std() == pytest.approx(300_000, rel=0.1)


def test_measured_spreads_count_where_they_are_asked_for() -> None:
    placement = Placement((0,), (0,), "hand")
    steady = _chain(1_000_000, spread_ns=(0,))
    assert NoisyProblem(steady, NoiseParams(0.3, measured=True)).makespans_ns(placement).std() == 0
    assert NoisyProblem(steady, NoiseParams(0.3)).makespans_ns(placement).std() > 0
    wide = _chain(1_000_000, spread_ns=(100_000,))
    found = NoisyProblem(wide, NoiseParams(0.0, measured=True, samples=4_000))
    assert found.makespans_ns(placement).std() == pytest.approx(148_260, rel=0.1)


def test_all_plans_meet_the_same_samples() -> None:
    problem = detector(1, SMALL)
    placement = make_policy("heft").place(problem)
    one, other = (NoisyProblem(problem).makespans_ns(placement).tolist() for _ in range(2))
    assert one == other
    assert one != NoisyProblem(problem, NoiseParams(seed=1)).makespans_ns(placement).tolist()


@pytest.mark.parametrize("seed", range(4))
def test_robust_promises_no_more_than_any_who_proposed(seed: int) -> None:
    problem = detector(seed, SMALL)
    noisy = NoisyProblem(problem, NoiseParams(0.4, samples=40))
    chosen = make_policy("robust", deviation=0.4, samples=40).place(problem)
    least_ns = noisy.promise(chosen).p95_ns
    for name in ("best", "heft", "comm_sd", "single"):
        assert least_ns <= noisy.promise(make_policy(name).place(problem)).p95_ns


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"deviation": -0.1}, "deviation must be 0 to 1"),
        ({"samples": 0}, "samples must be >= 1"),
        ({"quantile": 1.0}, "quantile must be between"),
        ({"policies": ("robust",)}, "must not contain 'robust'"),
    ],
)
def test_bad_options_are_named(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make_policy("robust", **wrong)


def test_spreads_are_kept_and_checked() -> None:
    problem = _chain(5, 6, spread_ns=(2,))
    assert Problem.from_json(problem.to_json()) == problem
    with pytest.raises(ValueError, match=r"task 't0': spread_ns"):
        replace(problem, tasks=(replace(problem.tasks[0], spread_ns=(-1,)), problem.tasks[1]))
