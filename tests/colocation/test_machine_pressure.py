"""Pressure as the machine tells it: read for who wants it, and what VELTAIR makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from surplus.colocation.frame.planner import PLANNERS
from surplus.colocation.frame.predictor import PREDICTORS
from surplus.colocation.frame.service import Partition
from surplus.colocation.frame.state import State
from surplus.colocation.frame.work import Group
from surplus.colocation.live.executor import Ended
from surplus.colocation.live.run import serve_live
from surplus.colocation.policies.names import policy_spec, with_options
from surplus.colocation.policies.veltair.block_choice import (
    Block,
    BlockChoice,
    BlockParams,
    layered,
)
from surplus.colocation.policies.veltair.rooms import Room
from tests.colocation.test_live_executor import ExactBackend
from tests.colocation.test_veltair_policies import Small, setting

ROOM = Room(0, cores=8, free=8, worker=0)


@dataclass(frozen=True)
class Sensitive(Small):
    """Twice as slow under full pressure; the second version takes twice as long alone."""

    sensitivities: tuple[float, ...] = (3.0, 0.0)


def taught(params: BlockParams) -> tuple[BlockChoice, State]:
    """A choice that has seen blocks slowed down by what was read, and a state to ask about."""
    own = setting([0], slo_ms=60)
    profiles = (Sensitive(),)
    predictor = PREDICTORS.make("layers", own.demand.services, profiles)
    choice = BlockChoice(layered(predictor), params)
    (query,) = own.load.queries()
    for reading in (0.0, 0.5, 1.0) * 4:
        block = Block(query, 0, 1, 0, 2, 2, 1000, 1000, 3.0, reading)
        choice.took(block, round(1000 * (1 + 3.0 * reading)))
    deployment = PLANNERS.make("cores").plan(own.demand)
    return choice, State(0, (), (None,) * len(deployment.partitions), deployment, {})


@pytest.mark.parametrize(
    ("proxy", "pressure", "version"),
    [
        ("machine", 0.0, 0),
        ("machine", 1.0, 1),
        ("machine", None, 0),  # it tells nothing: the cores of others, who are not there
        ("cores", 1.0, 0),
    ],
)
def test_the_version_is_that_for_what_the_machine_tells(
    proxy: str, pressure: float | None, version: int
) -> None:
    choice, state = taught(BlockParams(versions=True, proxy=proxy))
    (query,) = setting([0], slo_ms=60).load.queries()
    block = choice.next(state._replace(pressure=pressure), query, ROOM)
    assert block is not None
    assert block.version == version
    assert block.reading == (pressure if proxy == "machine" and pressure else 0.0)


class PressedBackend(ExactBackend):
    """A machine that is asked how hard it is pressed."""

    asked = 0

    def pressure(self) -> float | None:
        self.asked += 1
        return 0.5


@pytest.mark.parametrize(
    ("policy", "options", "is_asked"),
    [
        ("veltair", {"proxy": "machine"}, True),
        ("veltair", {}, False),
        ("veltair_scheduling_only", {"proxy": "machine"}, False),  # it has one version
        ("edf", {}, False),
    ],
)
def test_only_who_wants_to_know_has_it_read(
    policy: str, options: dict[str, object], is_asked: bool
) -> None:
    own = setting([0, 1, 2])
    backend = PressedBackend(own)
    serve_live(own, with_options(policy_spec(policy), options), backend, lambda: backend.clock)
    assert bool(backend.asked) == is_asked


class DeafBackend:
    """One that knows nothing of pressure."""

    def __init__(self, exact: ExactBackend) -> None:
        self._exact = exact

    def prepare(self, partitions: Sequence[Partition]) -> None:
        self._exact.prepare(partitions)

    def start(self, group: Group) -> None:
        self._exact.start(group)

    def wait(self, timeout_ns: int | None) -> list[Ended]:
        return self._exact.wait(timeout_ns)


def test_a_backend_need_not_know() -> None:
    own = setting([0, 1, 2])
    exact = ExactBackend(own)
    spec = with_options(policy_spec("veltair"), {"proxy": "machine"})
    run = serve_live(own, spec, DeafBackend(exact), lambda: exact.clock)
    assert len(run.record.group_cores) >= 3


def test_a_proxy_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="proxy must be one of"):
        BlockParams(proxy="tea leaves")
