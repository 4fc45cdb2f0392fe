"""Stored profiles of one emulated GPU on several of it, and plans for queries that overlap."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from bench.infrastructure.built_models import FOLDER, built
from bench.profiles import profile_path
from surplus.engine.devices.links import through_host
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.dfg.graph import Graph
from surplus.engine.planning.first_plans import whole_models
from surplus.engine.planning.periodic_plan import PeriodicCandidate, periodic
from surplus.engine.planning.stages import Costs, costs_of, plan_of, read_model
from surplus.engine.planning.throughput_candidates import (
    JudgedThroughput,
    balanced,
    judge,
    replicable,
)
from surplus.engine.profiling.profile import Profile
from surplus.engine.runtime.replicas import replica
from surplus.engine.segmentation.plan import Plan
from surplus.placement.problem import Link

PROFILED = "emulated:gpu"
_PROFILED_LANES = 2
"""No segment is wider."""

_TRIED = 3
"""Of the plans that hold their busiest resource least, of so many periodic schedules are made."""


@dataclass(frozen=True)
class Throughput:
    """A plan for queries that overlap.

    Parameters
    ----------
    interval_ns : int
        Between two queries.
    copies : int
        How often the plan is there.
    busiest : str
        What limits it.
    in_flight : int
        Queries at once, of each copy.
    plans : tuple of Plan
        One a copy.
    """

    interval_ns: int
    copies: int
    busiest: str
    in_flight: int
    plans: tuple[Plan, ...]

    @property
    def per_s(self) -> float:
        """Queries a second."""
        return 1e9 / self.interval_ns


def devices_of(lanes: int, gpus: int, *flags: str) -> str:
    """So many CPU lanes and GPUs of the profile's kind, a lane each."""
    words = ",".join(("titan_rtx", *flags))
    names = (f"{PROFILED}{number}[{words}]:1" for number in range(gpus))
    return ",".join((f"cpu:{lanes}", *names))


@cache
def graph_of(model: str) -> Graph:
    """A detector."""
    return read_model(built(model)[0], FOLDER / "cache")


def costs_on(model: str, lanes: int, gpus: int) -> Costs:
    """A detector on so many CPU lanes and GPUs: each costs what the profile's one does."""
    profile = on_several(Profile.load(profile_path(model)), gpus)
    specs = parse_devices(devices_of(min(_PROFILED_LANES, lanes), gpus))
    costs = costs_of(graph_of(model), profile, specs)
    cpu = replace(costs.problem.devices[0], lanes=lanes)
    problem = replace(costs.problem, devices=(cpu, *costs.problem.devices[1:]))
    return replace(costs, problem=problem, service=replace(costs.service, problem=problem))


def on_several(profile: Profile, gpus: int) -> Profile:
    """The profile, with so many GPUs in the place of its one."""
    names = [f"{PROFILED}{number}" for number in range(gpus)]

    def each(row: Mapping[str, Any]) -> dict[str, Any]:
        kept = {device: value for device, value in row.items() if device != PROFILED}
        return kept | (dict.fromkeys(names, row[PROFILED]) if PROFILED in row else {})

    one = profile.device(PROFILED)
    return replace(
        profile,
        devices=(
            *(device for device in profile.devices if device.name != PROFILED),
            *(replace(one, name=name, memory=name) for name in names),
        ),
        links=tuple(_links(profile, names)),
        tasks=tuple(
            replace(
                task,
                times=each(task.times),
                launch_ns=each(task.launch_ns),
                captured_ns=each(task.captured_ns),
            )
            for task in profile.tasks
        ),
        whole_model=each(profile.whole_model),
        whole_launch_ns=each(profile.whole_launch_ns),
        libraries=(),
    )


def _links(profile: Profile, names: Sequence[str]) -> Iterator[Link]:
    up = next(link for link in profile.links if link.target == PROFILED)
    down = next(link for link in profile.links if link.source == PROFILED)
    for name in names:
        yield replace(up, target=name)
        yield replace(down, source=name)
        for other in names:
            if other != name:
                yield through_host(replace(down, source=name), replace(up, target=other))


def whole_on_a_gpu(model: str, costs: Costs) -> Throughput:
    """As ONNX Runtime runs it: all of it in one session."""
    found = [c for c in whole_models(costs) if c.graph.groups[0].device > 0]
    return _throughput(model, costs, [judge(costs, found[0])])


def best(model: str, costs: Costs) -> Throughput:
    """The plan that is predicted to let most queries through, whichever it is."""
    known = whole_models(costs)
    judged = [judge(costs, candidate) for candidate in (*known, *balanced(costs))]
    for copies, candidates in replicable(costs, known):
        judged += [judge(costs, candidate, copies) for candidate in candidates]
    return _throughput(model, costs, judged)


def _throughput(model: str, costs: Costs, judged: Sequence[JudgedThroughput]) -> Throughput:
    first = sorted(judged, key=lambda one: one.busiest_ns)[:_TRIED]
    made = [(one, periodic(costs, one.candidate)) for one in first]
    found = [_of(model, costs, one, schedule) for one, schedule in made if schedule is not None]
    return min(found, key=lambda throughput: throughput.interval_ns)


def _of(
    model: str, costs: Costs, judged: JudgedThroughput, schedule: PeriodicCandidate
) -> Throughput:
    homes = () if judged.replication is None else judged.replication.homes
    interval_ns = max(judged.busiest_ns, -(-schedule.interval_ns // (1 + len(homes))))
    plan = plan_of(graph_of(model), costs, schedule.candidate, "balance")
    plans = (plan, *(replica(plan, row) for row in homes))
    return Throughput(interval_ns, len(plans), judged.busiest, schedule.in_flight, plans)
