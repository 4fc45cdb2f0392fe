"""The engine's own order as a policy of the simulator, on hand-worked loads."""

from __future__ import annotations

import numpy as np
import pytest

from surplus.colocation import policy_spec, simulate
from surplus.colocation.frame.service import Service
from surplus.colocation.frame.state import Waiting
from surplus.colocation.policies.core_order.ready_runs import FreeLanes, ReadyNode, ReadyRuns
from surplus.colocation.policies.core_order.run_order import run_order
from surplus.colocation.policies.names import with_options
from tests.colocation.settings import MS, load_of, service, setting_of


def ends_ms(
    services: list[Service],
    arrivals_ms: list[list[float]],
    times_ms: list[float],
    best_effort: tuple[str, ...] = (),
    devices: int = 1,
) -> list[float]:
    """When each query ends, in order of arrival."""
    setting = setting_of(services, load_of(services, arrivals_ms), times_ms, devices=devices)
    spec = with_options(policy_spec("core_order"), {"best_effort": list(best_effort)})
    return [end / MS for end in simulate(setting, spec).record.ended_ns]


def test_the_earliest_deadline_goes_first_and_what_is_late_gives_way() -> None:
    # At 10 ms c, due at 22, may be in time; b, due at 13, may not.
    services = [service("a", 100), service("b", 12), service("c", 20)]
    assert ends_ms(services, [[0], [1], [2]], [10, 10, 10]) == [10, 30, 20]


def test_a_model_that_is_cut_makes_way_within() -> None:
    services = [service("long", 500, operators=10), service("urgent", 30)]
    assert ends_ms(services, [[0], [11]], [100, 10]) == [110, 30]


def test_best_effort_is_last_whatever_its_deadline() -> None:
    services = [service("batch", 5), service("due", 500)]
    ends = ends_ms(services, [[0, 0], [1, 1]], [10, 10], ("batch",))
    assert ends == [10, 40, 20, 30]


def test_an_unknown_service_is_named() -> None:
    with pytest.raises(ValueError, match="there is no service 'none', but a"):
        ends_ms([service("a")], [[0]], [1], ("none",))


def test_a_wide_node_lets_short_narrow_ones_go_before_it() -> None:
    runs: ReadyRuns[str] = ReadyRuns()
    for arrival, (what, takes, width) in enumerate(
        [("wide", 9, 2), ("long", 6, 1), ("short", 5, 1)]
    ):
        runs.add(ReadyNode(run_order(0, False, None, arrival), what, takes, 0, width))
    lanes = FreeLanes(free=1, ends_ns=[5])
    taken = runs.take(0, lanes)
    assert taken is not None
    assert taken.what == "short"
    assert runs.take(0, lanes) is None
    assert len(runs) == 2


def test_a_borrower_takes_only_what_preempts() -> None:
    runs: ReadyRuns[str] = ReadyRuns()
    runs.add(ReadyNode(run_order(0, False, 50, 1), "later", 5, 5))
    assert runs.take(0, before=run_order(0, False, 40, 0)) is None
    assert runs.take(0, before=run_order(0, False, 60, 0)) is not None
    assert runs.take(0, before=run_order(0, True, None, 0)) is None


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_whom_it_remembers_to_be_late_it_treats_as_if_it_looked(
    seed: int, devices: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Three times what they hold: nearly all are late, some of them begun.
    draw = np.random.default_rng(seed)
    services = [service("a", 60, operators=4), service("b", 25), service("c", 200, operators=3)]
    arrivals = [sorted(draw.uniform(0, 900, 150 * devices).tolist()) for _ in services]
    times = [12, 3, 25]
    found = ends_ms(services, arrivals, times, devices=devices)
    monkeypatch.setattr(Waiting, "of_one_class", False)
    assert ends_ms(services, arrivals, times, devices=devices) == found
