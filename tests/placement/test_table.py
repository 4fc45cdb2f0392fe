import json
from dataclasses import replace

import pytest

from surplus.placement import common_table, make_policy, placement_table, policy_names
from surplus.placement.random_graphs import MachineParams, detector, inception
from surplus.placement.random_widths import with_widths
from tests.placement.hand_problems import CPU, GPU, cpu_gpu, on

# GPU: t0 0-10, t1 10-30. CPU: t2 0-6; t3 reads 40 bytes of t0 and runs from 50 to 54.
PROBLEM = cpu_gpu([(90, 10), (90, 20), (6, 3), (4, 3)], [(0, [3], 40)], cpu_lanes=2)
MOVED = on([GPU, GPU, CPU, CPU])


def test_a_placement_in_numbers():
    (row,) = placement_table(PROBLEM, [MOVED])
    cpu, gpu = row.devices
    assert (row.policy, row.tasks_moved, row.makespan_ns) == ("by hand", 2, 54)
    assert (cpu.device, cpu.tasks, cpu.service_ns, cpu.queueing_ns) == ("cpu", 2, 10, 0)
    assert (gpu.device, gpu.tasks, gpu.service_ns, gpu.queueing_ns) == ("gpu", 2, 30, 5)
    assert row.queueing_ns == 10 / 4
    assert cpu.utilisation == pytest.approx(10 / (2 * 54))
    assert gpu.utilisation == pytest.approx(30 / 54)
    assert (row.copies, row.copied_bytes, row.copy_ns) == (1, 40, 40)


def test_tasks_of_several_lanes_are_counted():
    problem = with_widths(inception(1, 3, machine=MachineParams(4, 2)), 1)
    placement = make_policy("heft").place(problem)
    wide = sum(width > 1 for width in placement.widths(problem))
    rows = placement_table(problem, [placement, replace(placement, width_of=())])
    assert [row.tasks_wide for row in rows] == [wide, 0]
    assert wide > 0


def test_the_gap_is_to_the_lower_bound():
    # t0 and t1 take 30 on the GPU; with a little of t1 on the CPU a fraction less.
    (row,) = placement_table(PROBLEM, [MOVED])
    assert 20 < row.lower_bound_ns <= 30
    assert row.gap == pytest.approx(54 / row.lower_bound_ns - 1)


def test_common_tasks_are_those_that_both_moved():
    other = on([GPU, CPU, GPU, CPU], [0, 1, 2, 3])
    mine, theirs = common_table(PROBLEM, MOVED, other)
    assert (mine.tasks_moved, mine.tasks_common) == (2, 1)
    assert (theirs.tasks_moved, theirs.tasks_common) == (2, 1)
    assert (mine.service_ns, mine.queueing_ns, mine.copy_ns) == (4, 0, 40)


def test_without_moves_nothing_is_common():
    rows = common_table(PROBLEM, on([GPU] * 4), MOVED)
    assert [(row.tasks_common, row.service_ns) for row in rows] == [(0, 0), (0, 0)]


def test_rows_become_json():
    problem = detector(0)
    rows = placement_table(problem, [make_policy(n).place(problem) for n in policy_names()])
    loaded = json.loads(json.dumps([row.to_dict() for row in rows]))
    assert [row["policy"] for row in loaded] == policy_names()
    assert loaded[0]["tasks_moved"] == 0
    assert loaded[0]["devices"][1]["device"] == "gpu"
    assert loaded[0]["gap"] >= 0
    assert {"tasks_common", "copy_ns"} <= common_table(PROBLEM, MOVED, MOVED)[0].to_dict().keys()


def test_an_empty_problem_has_an_empty_row():
    (row,) = placement_table(cpu_gpu([]), [on([])])
    assert (row.makespan_ns, row.gap, row.queueing_ns, row.devices[0].utilisation) == (0, 0, 0, 0)
