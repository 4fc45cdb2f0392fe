"""Which plan a model gets: chosen quickly when it is loaded, or tuned."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.dfg.graph import Graph
from engine.errors import EngineError, ExecutionError
from engine.pipeline.load_params import LoadParams
from engine.pipeline.stages import (
    Costs,
    ProgressCallback,
    candidates,
    holds_constants,
    no_progress,
    place,
    plan_of,
    replaced,
)
from engine.pipeline.tuning import Entrant, Tuner
from engine.pipeline.tuning_report import TuningReport
from engine.runtime import in_place
from engine.runtime.contest import Contest, ContestParams, Turn
from engine.runtime.machines import machine_for
from engine.runtime.model import Model
from engine.runtime.selection import ModelContender, refit
from engine.segmentation.coarse import predict
from engine.segmentation.groups import Group, GroupGraph
from engine.segmentation.plan import Plan
from engine.segmentation.segmenter import Candidate, single_segments, split_batches
from engine.segmentation.service import ServiceTimes
from engine.segmentation.shards import shards_of
from engine.segmentation.slices import sliced
from placement.placement import Placement

_log = logging.getLogger(__name__)

ModelEntrant = Entrant[ModelContender]

_STORED = " (stored)"

_MAY_BE_BEST = 1.5
"""A one-segment plan that is predicted to take so much longer than the best one is not run where
time is short: a profile is not that wrong about whole models, which it has measured."""


class PlanBuilder:
    """Builds candidates of one model for one set of devices.

    What a device refuses drops out; the last reason is kept.
    """

    def __init__(
        self,
        graph: Graph,
        costs: Costs,
        policy: str,
        params: LoadParams,
        inputs: Mapping[str, Any],
    ) -> None:
        self._graph = graph
        self._costs = costs
        self._policy = policy
        self._machine = machine_for(params.specs(), params.emulation)
        self._inputs = inputs
        self._recovery = params.recovery()
        self.refused: EngineError | None = None

    def __call__(self, candidate: Candidate) -> ModelContender | None:
        """A model that runs the candidate, or None."""
        plan = plan_of(self._graph, self._costs, candidate, self._policy)
        try:
            return ModelContender(self._model(plan), self._inputs)
        except EngineError as error:
            _log.warning("segmentation %s is not used: %s", candidate.name, error)
            self.refused = error
            return None

    def _model(self, plan: Plan) -> Model:
        return Model(self._graph, plan, self._machine, recovery=self._recovery)


def choose(
    graph: Graph,
    costs: Costs,
    placement: Placement,
    params: LoadParams,
    inputs: Mapping[str, Any],
    progress: ProgressCallback = no_progress,
) -> Model:
    """Build the best predicted segmentations, run them, keep the fastest with its real times.

    The whole model as one segment is always among them where one device can run it; several
    segments must be shown to be faster, so the result is no slower than the session that it is.

    Raises
    ------
    EngineError
        If the devices refuse all of them, or a query fails.
    """
    build = PlanBuilder(graph, costs, placement.policy, params, inputs)
    found = [*candidates(costs, placement), *_split(graph, costs, placement)]
    ranked = first_plans(found, params.finalists)
    # Three rounds are played whatever the time, so long queries are compared for twice of it.
    finalists = affordable(ranked, 2 * params.selection_ns)
    built: list[ModelEntrant] = []
    for done, candidate in enumerate(finalists):
        progress("build segments", done, len(finalists))
        contender = build(candidate)
        if contender is not None:
            built.append(Entrant(candidate, contender))
    progress("build segments", len(finalists), len(finalists))
    if not built:
        raise build.refused or ExecutionError("no plan was built")
    entrant, turns = _fastest(built, params)
    return _with_real_times(entrant, costs.service, turns)


def tune(
    graph: Graph,
    costs: Costs,
    placement: Placement,
    params: LoadParams,
    inputs: Mapping[str, Any],
    progress: ProgressCallback = no_progress,
    known: Plan | None = None,
) -> tuple[Model, TuningReport]:
    """Look for the best plan for ``params.tune_s`` seconds (tuning.py).

    Where there are several devices, each round places anew with the times learned. The whole
    model on one device is a candidate whatever the policy says.

    Parameters
    ----------
    known : Plan, optional
        What an earlier tuning found, to begin with.

    Raises
    ------
    EngineError
        If the devices refuse all plans, or a query fails.
    """
    build = PlanBuilder(graph, costs, placement.policy, params, inputs)

    def cut(service: ServiceTimes) -> Sequence[Candidate]:
        learned = Costs(replaced(costs.problem, service), service)
        is_placed = len(costs.problem.devices) == 1 or params.policy != placement.policy
        anew = placement if is_placed else place(learned.problem, params.policy, params.options)
        return candidates(learned, anew)

    tuner = Tuner(costs.service, cut, build, params.tuning(), time.perf_counter_ns, progress)
    cuts = [c for c in candidates(costs, placement) if not c.is_trivial]
    ranked = [*whole_models(costs), *cuts, *_split(graph, costs, placement)]
    first = affordable(first_plans(ranked, 1 + params.finalists), round(params.tune_s * 5e8))
    tuned = tuner.run([*first, *_again(costs, known)])
    if tuned is None:
        raise build.refused or ExecutionError("no plan was built")
    return _with_real_times(tuned.best, costs.service, tuned.turns), tuned.report


def slice_model(
    model: Model, costs: Costs, policy: str, params: LoadParams, inputs: Mapping[str, Any]
) -> Model:
    """The model with its long segments cut, and with the times of its slices in place.

    Raises
    ------
    EngineError
        If a device refuses a slice, or a query fails.
    """
    if model.plan.shards > 1:
        shards = shards_of(model.graph, costs.problem, costs.service, model.plan.shards)
        assert shards is not None, "it runs"
        costs = Costs(shards.problem, shards.service)
    else:
        shards = None
    found = {Group(s.tasks, s.device, s.width): s.rank for s in model.plan.segments}
    measured = {Group(s.tasks, s.device, s.width): s.service_ns for s in model.plan.segments}
    service = replace(costs.service, measured={**costs.service.measured, **measured})
    graph = sliced(GroupGraph(costs.problem, found), service, round(params.slice_ms * 1e6))
    candidate = Candidate(
        f"{model.plan.name} sliced", graph, predict(graph, service), shards=shards
    )
    plan = plan_of(model.graph, costs, candidate, policy)
    machine = machine_for(params.specs(), params.emulation)
    made = Model(model.graph, plan, machine, params.second_plan(), params.recovery())
    made.plan = refit(made, graph, costs.service, inputs)
    return made


def _split(graph: Graph, costs: Costs, placement: Placement) -> list[Candidate]:
    found = split_batches(graph, costs.problem, placement, costs.service)
    return [candidate for candidate in found if holds_constants(candidate.graph)]


def whole_models(costs: Costs) -> list[Candidate]:
    """The whole model as one segment, on each device that can run all of it, at each width."""
    found: list[Candidate] = []
    for index, device in enumerate(costs.problem.devices):
        if None in costs.service.task_ns[index, 1] or not costs.problem.tasks:
            continue
        for name, graph in single_segments(costs.problem, index, costs.service):
            title = name if index == 0 else f"{name} on {device.name}"
            if not holds_constants(graph):
                continue
            found.append(Candidate(title, graph, predict(graph, costs.service)))
    return found


def first_plans(ranked: Sequence[Candidate], count: int) -> list[Candidate]:
    """Every one-segment plan, narrow ones first, and the best predicted of each kind of cut.

    A split batch comes on top: what its shards take is scaled, while cuts add up what was
    measured, so that predictions do not rank one among the others.
    """
    of_kind: dict[str, Candidate] = {}
    for candidate in ranked:
        if not candidate.is_trivial and candidate.shards is None:
            of_kind.setdefault(candidate.name.rpartition(" ")[0], candidate)
    whole = sorted((c for c in ranked if c.is_trivial), key=lambda c: c.graph.groups[0].width)
    cuts = list(of_kind.values())[: max(0, count - 1)]
    split = [candidate for candidate in ranked if candidate.shards is not None]
    return [*whole, *split, *cuts] or list(ranked[:1])


def affordable(first: Sequence[Candidate], time_ns: int) -> list[Candidate]:
    """Those of the first plans whose least rounds fit, and two at least.

    One-segment plans that may be the best one always take part: theirs is the time to beat.
    """
    whole = [c for c in first if c.is_trivial]
    limit_ns = _MAY_BE_BEST * min((c.predicted.makespan_ns for c in whole), default=0)
    chosen = [c for c in whole if c.predicted.makespan_ns <= limit_ns]
    others = sorted((c for c in first if c not in chosen), key=lambda c: c.is_trivial)
    left_ns = time_ns - sum(map(_least_ns, chosen))
    for candidate in others:
        left_ns -= _least_ns(candidate)
        if left_ns < 0 and len(chosen) >= 2:
            break
        chosen.append(candidate)
    return [c for c in first if c in chosen]


def _least_ns(candidate: Candidate) -> int:
    """Warming up and the least rounds."""
    return candidate.predicted.makespan_ns * (1 + ContestParams.least_rounds)


def _again(costs: Costs, known: Plan | None) -> list[Candidate]:
    """A stored plan as a candidate, if it has several segments and still fits."""
    if known is None or len(known.segments) < 2 or known.shards > 1:  # split ones are cut anew
        return []
    groups = {Group(s.tasks, s.device, s.width): s.rank for s in known.segments}
    try:
        graph = GroupGraph(costs.problem, groups)
        order = tuple(groups[group] for group in graph.groups)
        predicted = predict(graph, costs.service, order=order)
    except (ValueError, KeyError) as error:
        _log.warning("the stored plan is no candidate: %s", error)
        return []
    name = f"{known.name.removesuffix(_STORED)}{_STORED}"
    return [Candidate(name, graph, predicted, order)]


def _fastest(
    built: Sequence[ModelEntrant], params: LoadParams
) -> tuple[ModelEntrant, Sequence[Turn]]:
    known = max(1, sum(entrant.is_whole for entrant in built))
    contest = Contest(
        [entrant.contender for entrant in built], known, ContestParams(), time.perf_counter_ns
    )
    try:
        contest.play(time.perf_counter_ns() + params.selection_ns)
    except ExecutionError as error:
        if len(built) > 1:
            raise
        _log.warning("times were not measured in place: %s", error)
        return built[0], []
    best = contest.to_beat
    for index, entrant in enumerate(built):
        _log.info(
            "%s: %d segments, predicted %.3f ms, measured %.3f of %s",
            entrant.candidate.name,
            len(entrant.candidate.graph.groups),
            entrant.candidate.predicted.makespan_ns / 1e6,
            contest.against(index, best).median,
            built[best].candidate.name,
        )
    return built[contest.winner], contest.turns(contest.winner)


def _with_real_times(entrant: ModelEntrant, service: ServiceTimes, turns: Sequence[Turn]) -> Model:
    model = entrant.contender.model
    if entrant.candidate.shards is not None:
        service = entrant.candidate.shards.service
    if turns:
        model.plan = in_place.refit(model.plan, entrant.candidate.graph, service, turns)
    return model
