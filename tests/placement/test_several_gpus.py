"""Several GPUs, each with a memory of its own: who uses them, and what fits."""

from dataclasses import replace

import pytest

from surplus.placement import (
    InfeasibleError,
    lower_bounds,
    make_policy,
    memory_use,
    policy_names,
    simulate,
    validate,
)
from surplus.placement.occupancy import busiest_of
from tests.placement.several_gpus import chain_too_large_for_one, on_gpus

everywhere = pytest.mark.parametrize("name", policy_names())
on_several = pytest.mark.parametrize("gpus", [2, 4])

ONE_GPU = {"single", "qd_all", "qd", "sd", "comm_sd", "comm_sd_best"}
"""The paper has one; what these use of others is what the default one does not hold."""


def side_by_side(gpus, tasks=8):
    """Tasks that nothing connects, of 100 us, which the CPU is no help with."""
    return on_gpus(gpus, [(90_000_000, 100_000)] * tasks)


def valid(problem, name):
    placement = make_policy(name).place(problem)
    timeline = simulate(problem, placement)
    assert validate(problem, placement, timeline) == []
    assert timeline.makespan_ns >= lower_bounds(problem).makespan_ns
    return placement, timeline


@everywhere
@on_several
def test_tasks_side_by_side_share_all_of_them(name, gpus):
    _, timeline = valid(side_by_side(gpus), name)
    if name in ONE_GPU:
        assert timeline.makespan_ns >= 800_000
    else:
        assert timeline.makespan_ns == 800_000 / gpus


@everywhere
@on_several
def test_a_model_too_large_for_one_lies_on_all(name, gpus):
    problem = chain_too_large_for_one(gpus)
    placement, timeline = valid(problem, name)
    used = memory_use(problem, placement, timeline)
    assert len({*placement.device_of} - {0}) == gpus
    for device in problem.devices[1:]:
        assert used[device.memory].peak_bytes <= device.memory_bytes


@everywhere
def test_what_all_of_them_together_do_not_hold_is_refused(name):
    problem = chain_too_large_for_one(2)
    short = tuple(replace(d, memory_bytes=d.memory_bytes and 250) for d in problem.devices)
    with pytest.raises(InfeasibleError, match="gpu"):
        make_policy(name).place(replace(problem, devices=short))


@everywhere
def test_one_of_less_memory_gets_less(name):
    problem = chain_too_large_for_one(2)
    sizes = (None, 650, 250)
    devices = tuple(
        replace(d, memory_bytes=size) for d, size in zip(problem.devices, sizes, strict=True)
    )
    placement, _ = valid(replace(problem, devices=devices), name)
    assert placement.device_of.count(2) <= 2 < placement.device_of.count(1)


@on_several
def test_for_throughput_each_has_its_share(gpus):
    problem = side_by_side(gpus, 12)
    placement = make_policy("balance").place(problem)
    assert busiest_of(problem, placement)[1] == 1_200_000 / gpus
