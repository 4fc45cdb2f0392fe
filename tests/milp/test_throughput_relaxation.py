"""The linear relaxation of the least load, against every placement of small problems."""

import subprocess
import sys

import pytest

from surplus.milp.deadline import Deadline
from surplus.milp.throughput.exchange import exchanged
from surplus.milp.throughput.rows import LinearRow, proven_bound
from surplus.placement.occupancy import Occupancy
from tests.milp.clock import Clock
from tests.milp.problems import two_devices

CHECKS = (
    "no_prices_prove_more_than_the_optimum",
    "the_relaxation_bounds_every_placement_and_its_rounding_is_one",
    "links_have_prices_too",
    "what_is_not_linear_is_left_out",
    "a_chain_of_blocks_is_shared_out_within_a_thousandth_without_a_solver",
    "what_the_relaxation_gave_stays_where_the_solver_finds_nothing",
    "without_a_relaxation_the_solver_begins_with_what_is_known",
    "a_rounding_that_meets_the_bound_needs_no_solver",
)


@pytest.mark.parametrize("check", CHECKS)
def test_in_a_process_with_or_tools(check):
    command = [sys.executable, "-m", "tests.milp.relaxation_checks", check]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


def test_prices_by_hand():
    # D >= 6 v, 2 D >= 10 (1 - v): at one price each 3 D >= 10 - 4 v >= 6, at 5 and 3 11 D >= 30.
    load, v = 1, 0
    rows = [LinearRow(((v, 6), (load, -1)), most=0), LinearRow(((v, -10), (load, -2)), most=-10)]
    assert proven_bound(rows, [-1.0, -1.0], load) == 2
    assert proven_bound(rows, [-5.0, -3.0], load) == 3
    # Prices of the wrong side prove nothing, nor does none.
    assert proven_bound(rows, [1.0, 1.0], load) == 0
    assert proven_bound(rows, [0.0, 0.0], load) == 0


def test_two_tasks_change_places_where_one_alone_would_not():
    # 6 + 5 beside 4 + 3: whatever moves alone makes one of them fuller than 11.
    problem = two_devices([(6, 6), (5, 5), (4, 4), (3, 3)])
    devices = exchanged(problem, [0, 0, 1, 1], {}, Deadline.after(60))
    assert Occupancy(problem, devices).busiest()[1] == 9


def test_without_time_nothing_moves():
    problem = two_devices([(7, 7)] * 4)
    assert exchanged(problem, [0] * 4, {}, Deadline.after(0, Clock())) == [0] * 4
