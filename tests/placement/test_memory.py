from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surplus.placement import (
    Blob,
    Placement,
    Problem,
    Timeline,
    make_policy,
    memory_use,
    simulate,
    validate,
)
from surplus.placement.memory import binding_capacities, constant_bytes, holdings, simulated_use
from surplus.placement.random_graphs import small_random
from surplus.placement.validator import Rule
from tests.placement.featured_problems import featured
from tests.placement.hand_problems import CPU, GPU, cpu_gpu, on
from tests.placement.limited_problems import peak_by_instants, with_limits, with_weights

# t0 (GPU, 0-10) makes x0 of 20 bytes; t1 (GPU, 10-20) reads it and makes x1 of 30, which goes to
# t2 on the CPU (copy 20-50, t2 50-56); x2, an output of 8 bytes, lies on the host to the end.
CHAIN = cpu_gpu(
    [(9, 10), (9, 10), (6, 9)], [(0, [1], 20), (1, [2], 30), (2, [], 8, True), (-1, [0], 5)]
)
PLACED = on([GPU, GPU, CPU])
TIMELINE = simulate(CHAIN, PLACED)


def test_tensors_lie_where_they_are_made_and_copied_until_their_last_reader_is_done():
    uses = memory_use(CHAIN, PLACED, TIMELINE)
    # On the GPU: x3 5-15 and x0 5-25, then x0 and x1 (15-55), then x1 alone.
    assert (uses["gpu"].peak_bytes, uses["gpu"].peak_ns) == (50, 15)
    assert uses["gpu"].tensors == (1, 0)
    # On the host: x3 0-5, x1 from its copy at 25 on, x2 beside it from 55 to the end.
    assert (uses["host"].peak_bytes, uses["host"].peak_ns) == (38, 55)


def test_a_memory_may_be_called_anything():
    named = Problem.from_json(CHAIN.to_json().replace('"gpu"', '"a->b"'))
    assert {h.memory for h in holdings(named, PLACED, simulate(named, PLACED))} == {"host", "a->b"}
    uses = memory_use(named, PLACED, simulate(named, PLACED))
    assert [(use.peak_bytes, use.peak_ns) for use in uses.values()] == [(38, 55), (50, 15)]
    assert validate(named, PLACED, simulate(named, PLACED)) == []


def test_constants_count_once_per_memory():
    weighted = replace(
        CHAIN,
        blobs=(Blob("shared", 100),),
        tasks=tuple(
            replace(t, weight_bytes=100 + i, blobs=(0,)) for i, t in enumerate(CHAIN.tasks)
        ),
    )
    uses = memory_use(weighted, PLACED, TIMELINE)
    assert uses["gpu"].weight_bytes == 100 + 0 + 1
    assert uses["host"].weight_bytes == 102
    assert constant_bytes(weighted, range(3)) == 103
    assert Problem.from_json(weighted.to_json()) == weighted


def test_queries_add_up_but_their_constants_do_not():
    weighted = replace(CHAIN, tasks=tuple(replace(t, weight_bytes=7) for t in CHAIN.tasks))
    twice = Timeline((*TIMELINE, *(replace(s, query=1) for s in TIMELINE)), "two")
    assert memory_use(weighted, PLACED, twice)["gpu"].peak_bytes == 2 * 50 + 14


def test_the_validator_says_which_memory_when_by_how_much_and_who():
    limited = with_limits(CHAIN, gpu=49)
    (violation,) = validate(limited, PLACED, TIMELINE)
    assert violation.rule is Rule.MEMORY
    assert "'gpu' needs 50 bytes at 15 ns, 1 bytes more than its 49 bytes" in violation.message
    assert "largest: tensor 'x1' 30 bytes, tensor 'x0' 20 bytes" in violation.message
    assert validate(with_limits(CHAIN, gpu=50), PLACED, TIMELINE) == []


def test_queries_that_overlap_may_exceed_what_one_does_not():
    limited = with_limits(CHAIN, gpu=60)
    twice = Timeline((*TIMELINE, *(replace(s, query=1) for s in TIMELINE)), "two")
    assert validate(limited, PLACED, TIMELINE) == []
    assert Rule.MEMORY in {v.rule for v in validate(limited, PLACED, twice)}


def test_of_devices_that_share_a_memory_the_least_capacity_counts():
    devices = (*CHAIN.devices[:1], replace(CHAIN.devices[1], memory="host", memory_bytes=40))
    shared = replace(CHAIN, devices=devices, links=())
    assert binding_capacities(shared) == {"host": 40}
    assert binding_capacities(with_limits(shared, host=63)) == {}


@given(seed=st.integers(0, 2**32), data=st.data())
@settings(max_examples=150)
def test_the_peak_is_that_of_the_worst_instant(seed, data):
    problem = with_weights(small_random(seed, 12, 3), seed)
    able = [[d for d, t in enumerate(k.service_ns) if t is not None] for k in problem.tasks]
    devices = tuple(data.draw(st.sampled_from(row)) for row in able)
    placed = Placement(devices, tuple(range(len(devices))), "drawn")
    timeline = simulate(problem, placed)
    uses = memory_use(problem, placed, timeline)
    for memory, use in uses.items():
        assert use.peak_bytes == peak_by_instants(problem, placed, timeline, memory)
    assert simulated_use(problem, placed) == uses


@pytest.mark.parametrize("seed", range(20))
def test_the_native_evaluator_finds_the_same_with_all_that_a_problem_can_have(seed):
    problem = with_weights(featured(seed, 14), seed)
    placed = make_policy("heft").place(problem)
    assert simulated_use(problem, placed) == memory_use(problem, placed, simulate(problem, placed))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"blobs": (1,)}, r"task 't0': blobs\[0\] must be below 1, got 1"),
        ({"blobs": (0, 0)}, "blobs must be distinct"),
        ({"blobs": (0,), "weight_bytes": 9}, "weight_bytes: its blobs exceed them"),
    ],
)
def test_blobs_that_do_not_fit_are_refused(change, named):
    tasks = (replace(CHAIN.tasks[0], **change), *CHAIN.tasks[1:])
    with pytest.raises(ValueError, match=named):
        replace(CHAIN, blobs=(Blob("w", 10),), tasks=tasks)


def test_a_negative_size_is_refused():
    with pytest.raises(ValueError, match="blob 'w': size_bytes must be >= 0"):
        Blob("w", -1)
    with pytest.raises(ValueError, match="device 'gpu': memory_bytes must be >= 0"):
        with_limits(CHAIN, gpu=-1)
