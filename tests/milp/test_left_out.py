"""What results say that the solvers' programs do not know."""

from dataclasses import replace

import pytest

from surplus.milp.left_out import left_out
from surplus.milp.schedule import schedule_in_order
from surplus.milp.series import block_problem, series_blocks
from surplus.placement import make_policy, simulate, validate
from surplus.placement.random_graphs import small_random
from tests.milp.problems import edge, two_devices
from tests.placement.featured_problems import placed
from tests.placement.hand_problems import on

PLAIN = two_devices([(1, 1), (1, 1)], [edge(0, 1, size=8)], lanes=(1, 2))


def with_gpu(**changes):
    return with_gpu_of(PLAIN, **changes)


def with_link(**changes):
    return replace(PLAIN, links=(replace(PLAIN.links[0], **changes), PLAIN.links[1]))


def launched(launch_ns):
    return replace(PLAIN, tasks=tuple(replace(task, launch_ns=launch_ns) for task in PLAIN.tasks))


def with_gpu_of(problem, **changes):
    host, gpu = problem.devices
    return replace(problem, devices=(host, replace(gpu, **changes)))


def one_lane(launch_ns):
    return with_gpu_of(launched(launch_ns), lanes=1)


@pytest.mark.parametrize(
    ("problem", "names"),
    [
        (PLAIN, ()),
        (with_gpu(slowdown=(1.0, 1.5)), ("slowdown of 'gpu' beyond its least",)),
        (with_gpu(slowdown=(1.5,)), ()),
        (with_gpu(slowdown=(1.5, 1.5, 2.0)), ()),
        (with_gpu(submit_ns=1), ("submit_ns of 'gpu'",)),
        (launched((0, 3)), ("launch_ns on 'gpu'",)),
        (launched((0, 0)), ()),
        # Of one lane that is busy longer than the thread nothing ever waits for that.
        (one_lane((0, 1)), ()),
        (one_lane((0, 2)), ("launch_ns on 'gpu'",)),
        (with_gpu_of(one_lane((0, 1)), submit_ns=1), ("submit_ns of 'gpu'", "launch_ns on 'gpu'")),
        (with_gpu_of(one_lane((0, 1)), slowdown=(0.9,)), ("launch_ns on 'gpu'",)),
        (
            replace(one_lane((0, 1)), links=with_link(pageable=True).links),
            ("launch_ns on 'gpu'", "pageable copies over host->gpu"),
        ),
        (with_link(staging_bytes=7), ("staging_bytes of host->gpu",)),
        (with_link(staging_bytes=8), ()),
        (with_link(pageable=True), ("pageable copies over host->gpu",)),
        (
            replace(with_gpu(submit_ns=2), links=with_link(pageable=True).links),
            ("submit_ns of 'gpu'", "pageable copies over host->gpu"),
        ),
    ],
)
def test_each_field_that_no_program_counts_is_named(problem, names):
    assert left_out(problem) == names


@pytest.mark.parametrize("seed", range(30))
def test_launches_that_nothing_waits_for_change_no_time(seed):
    plain = small_random(seed, 12)
    devices = tuple(replace(device, lanes=1) for device in plain.devices)
    tasks = tuple(replace(task, widths=()) for task in plain.tasks)
    plain = replace(plain, devices=devices, tasks=tasks)
    launched = tuple(
        replace(task, launch_ns=tuple((ns or 0) // 2 + (ns or 0) % 2 for ns in task.service_ns))
        for task in tasks
    )
    problem = replace(plain, tasks=launched)
    assert left_out(problem) == ()
    placement = placed(plain, seed)
    timeline = simulate(problem, placement)
    assert timeline == simulate(plain, placement)
    in_order = schedule_in_order(problem, make_policy("heft").place(problem))
    assert validate(problem, make_policy("heft").place(problem), in_order) == []


def test_the_first_cut_of_a_block_was_launched_before_it_began():
    problem = replace(
        two_devices([(None, 9), (None, 5), (None, 5)], [edge(0, 1, size=8), edge(1, 2, size=8)]),
    )
    problem = replace(
        problem, tasks=tuple(replace(task, launch_ns=(0, 4)) for task in problem.tasks)
    )
    _, block, *_ = series_blocks(problem)
    inner = block_problem(problem, block, [1], [1])
    assert left_out(inner) == ()
    assert simulate(inner, on([1] * len(inner.tasks))).makespan_ns == 5
