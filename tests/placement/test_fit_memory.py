from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surplus.placement import (
    InfeasibleError,
    make_policy,
    memory_use,
    policy_names,
    simulate,
    validate,
)
from surplus.placement.fit_memory import fit, least_bytes
from surplus.placement.memory import binding_capacities
from surplus.placement.random_graphs import DetectorParams, detector, small_random
from surplus.placement.room import fits
from tests.placement.featured_problems import featured
from tests.placement.hand_problems import CPU, GPU, cpu_gpu, on
from tests.placement.limited_problems import with_limits, with_weights

everywhere = pytest.mark.parametrize("name", policy_names())


def embedding_model(tables=8):
    """Tables of 1000 bytes that a CPU reads as fast, and a heavy layer that a GPU is needed for."""
    services = [(10, 8)] * tables + [(900_000, 50)]
    edges = [(i, [tables], 4) for i in range(tables)] + [(tables, [], 4, True)]
    problem = cpu_gpu(services, edges)
    sizes = [1_000] * tables + [500]
    return replace(
        problem,
        tasks=tuple(
            replace(t, weight_bytes=size) for t, size in zip(problem.tasks, sizes, strict=True)
        ),
    )


@everywhere
@given(
    seed=st.integers(0, 2**32),
    count=st.integers(1, 20),
    devices=st.integers(1, 3),
    share=st.floats(0, 1),
)
@settings(max_examples=60)
def test_every_policy_fits_or_says_that_it_cannot(name, seed, count, devices, share):
    problem = with_weights(small_random(seed, count, devices), seed)
    placed = make_policy("single").place(problem)
    peaks = memory_use(problem, placed, simulate(problem, placed))
    limits = {m: round(share * use.peak_bytes) for m, use in peaks.items() if m != "host"}
    limited = with_limits(problem, **limits)
    try:
        placement = make_policy(name).place(limited)
    except InfeasibleError:
        return
    assert validate(limited, placement, simulate(limited, placement)) == []


@everywhere
@given(seed=st.integers(0, 2**32), limit=st.integers(0, 500))
@settings(max_examples=30)
def test_where_the_host_can_run_everything_something_always_fits(name, seed, limit):
    problem = with_weights(small_random(seed, 12, 2), seed)
    tasks = tuple(
        replace(t, service_ns=(t.service_ns[0] or 7, t.service_ns[1])) for t in problem.tasks
    )
    limited = with_limits(replace(problem, tasks=tasks), m1=limit)
    assert fits(limited, make_policy(name).place(limited))


@everywhere
def test_tables_leave_and_the_heavy_layer_stays(name):
    problem = with_limits(embedding_model(), gpu=700)
    placement = make_policy(name).place(problem)
    assert placement.device_of == (CPU,) * 8 + (GPU,)


def test_no_more_leaves_than_must():
    problem = with_limits(embedding_model(), gpu=500 + 5 * 1_000 + 4 * 9)
    placement = make_policy("single").place(problem)
    assert sorted(placement.device_of) == [CPU] * 3 + [GPU] * 6
    assert placement.device_of[8] == GPU


def weighing(problem, *sizes):
    """The problem with constants of these bytes, by task."""
    pairs = zip(problem.tasks, sizes, strict=True)
    return replace(problem, tasks=tuple(replace(t, weight_bytes=size) for t, size in pairs))


def test_only_what_is_in_excess_counts():
    # t0 frees more bytes per nanosecond lost, but 10 are enough, and those of t1 cost less.
    problem = weighing(cpu_gpu([(108, 8), (13, 8)]), 1_000, 10)
    assert fit(with_limits(problem, gpu=1_000), on([GPU, GPU])).placement.device_of == (GPU, CPU)


def test_a_move_that_did_not_help_is_undone():
    # t0 leaves first, but its 60 bytes come back as a copy for t2; once t1 left, t0 may return.
    problem = weighing(cpu_gpu([(20, 10), (100, 10), (None, 10)], [(0, [2], 60)]), 0, 60, 0)
    fitted = fit(with_limits(problem, gpu=100), on([GPU] * 3))
    assert fitted.placement.device_of == (GPU, CPU, GPU)
    assert fitted.banned == {(1, "gpu")}


def test_what_hangs_on_a_moved_task_is_placed_anew():
    # x0 of 40 bytes: with t0 on the CPU, t1 is better there, too; on the GPU it would be copied.
    problem = cpu_gpu([(10, 8), (10, 8), (10, 8)], [(0, [1], 40), (1, [2], 4)])
    heavy = replace(
        problem,
        tasks=(replace(problem.tasks[0], weight_bytes=900), *problem.tasks[1:]),
    )
    assert make_policy("heft").place(heavy).device_of == (GPU,) * 3
    limited = make_policy("heft").place(with_limits(heavy, gpu=800)).device_of
    assert limited[:2] == (CPU, CPU)


def test_a_limit_that_everything_fits_changes_nothing():
    problem = with_weights(detector(1, DetectorParams(20, 3, 16, 6)), 1)
    for name in policy_names():
        wide = with_limits(problem, gpu=1 << 40)
        assert make_policy(name).place(wide) == make_policy(name).place(problem)


def test_what_can_run_nowhere_else_says_how_much_is_needed():
    problem = cpu_gpu([(None, 10), (5, 5)], [(0, [1], 30), (1, [], 9)])
    heavy = replace(problem, tasks=tuple(replace(t, weight_bytes=100) for t in problem.tasks))
    assert least_bytes(heavy, "gpu") == 130
    with pytest.raises(InfeasibleError, match=r"'gpu' has 129 bytes, .* at least 130 bytes"):
        make_policy("single").place(with_limits(heavy, gpu=129))
    assert make_policy("single").place(with_limits(heavy, gpu=130)).device_of == (GPU, CPU)


def test_where_moving_does_not_help_the_closest_is_told():
    # Both run on the GPU only; x0 and x1 together exceed it, though each task alone would fit.
    problem = cpu_gpu([(None, 10), (None, 10), (5, 5)], [(0, [2], 60), (1, [2], 60)])
    with pytest.raises(InfeasibleError, match=r"the closest: .* needs 120 bytes .*less than 60"):
        fit(with_limits(problem, gpu=119), on([GPU, GPU, CPU]))


def test_a_full_second_memory_is_no_way_out():
    problem = cpu_gpu([(10, 8)])
    heavy = replace(problem, tasks=(replace(problem.tasks[0], weight_bytes=100),))
    with pytest.raises(InfeasibleError, match="memory"):
        make_policy("single").place(with_limits(heavy, gpu=99, host=99))


@pytest.mark.parametrize("seed", range(30))
def test_the_native_room_says_what_memory_use_does(seed):
    problem = with_weights(featured(seed, 14), seed)
    placed = make_policy("heft").place(problem)
    peaks = memory_use(problem, placed, simulate(problem, placed))
    for spare in (0, -1):
        limits = {memory: use.peak_bytes + spare for memory, use in peaks.items() if memory}
        limited = with_limits(problem, **{m: size for m, size in limits.items() if size >= 0})
        uses = memory_use(limited, placed, simulate(limited, placed))
        bound = binding_capacities(limited)
        assert fits(limited, placed) == all(uses[m].peak_bytes <= b for m, b in bound.items())
