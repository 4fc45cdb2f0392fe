"""Which plan a model gets: chosen quickly when it is loaded, or tuned.

Long because both ways share the steps behind them: other kernels, one lane, overlaps.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from surplus.engine.contest import in_place
from surplus.engine.contest.contest import Contest, ContestParams, ContestTurn
from surplus.engine.contest.selection import ModelContender
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import EngineError, ExecutionError
from surplus.engine.planning.answer_check import AnswerCheck
from surplus.engine.planning.candidates import Place, all_candidates
from surplus.engine.planning.feedback import SecondLook, tell
from surplus.engine.planning.first_plans import (
    affordable,
    best_known,
    first_plans,
    stored_plan,
    whole_models,
)
from surplus.engine.planning.fixed_widths import with_fixed_widths
from surplus.engine.planning.job import PlanJob
from surplus.engine.planning.kernel_look import Shown
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.planning.narrow_choice import narrow_choice
from surplus.engine.planning.other_kernels import with_other_kernels
from surplus.engine.planning.runners_up import conditions, judgement_of
from surplus.engine.planning.stages import (
    Costs,
    candidates,
    place,
    plan_of,
    replaced,
)
from surplus.engine.planning.throughput_search import ThroughputSearch
from surplus.engine.planning.tuning import Entrant, Tuner
from surplus.engine.planning.tuning_report import TuningReport
from surplus.engine.profiling.disturbance import Watch
from surplus.engine.runtime.departure import Departure
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.segmentation.plan import Plan
from surplus.engine.segmentation.segmenter import Candidate
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.placement import Placement
from surplus.placement.policy import keeps_devices

_log = logging.getLogger(__name__)

ModelEntrant = Entrant[ModelContender]


class CandidateBuilder:
    """Builds candidates of one model for one set of devices.

    What a device refuses drops out, and what answers wrongly (answer_check.py); the last reason is
    kept. A loss of a device ends the choice: what went on elsewhere would be measured and stored as
    what it was not.
    """

    def __init__(
        self, job: PlanJob, costs: Costs, policy: str, *, keeps_bits: bool = False
    ) -> None:
        self._graph = job.graph
        self._costs = costs
        self._policy = policy
        self._machine = job.machine
        self._inputs = job.inputs
        self._recovery = job.recovery
        specs = job.params.specs()
        self._check = AnswerCheck(job.graph, job.inputs, specs, keeps_bits=keeps_bits)
        self.refused: EngineError | None = None

    def __call__(self, candidate: Candidate) -> ModelContender | None:
        """A model that runs the candidate, or None.

        Raises
        ------
        EngineError
            If a device was lost.
        """
        return self.of_plan(plan_of(self._graph, self._costs, candidate, self._policy))

    def of_plan(self, plan: Plan) -> ModelContender | None:
        """The same of a plan."""
        try:
            model = self._model(plan)
            return ModelContender(model, self._inputs) if self._check.accepts(model) else None
        except EngineError as error:
            if self._machine.is_lost:
                raise
            _log.warning("segmentation %s is not used: %s", plan.name, error)
            self.refused = error
            return None

    def whole(self) -> ModelEntrant | None:
        """The whole model in one session, where every plan that was asked for answers wrongly."""
        if not self._check.found_wrong:
            return None
        for candidate in whole_models(self._costs):
            contender = self(candidate)
            if contender is not None:
                _log.warning("no such plan is left: the whole model runs in one session")
                return Entrant(candidate, contender)
        return None

    def _model(self, plan: Plan) -> PlannedModel:
        return PlannedModel(self._graph, plan, self._machine)

    def finished(self, model: PlannedModel) -> PlannedModel:
        """The chosen one, which from now on survives a loss as the user wishes."""
        model.guard(self._machine, self._recovery)
        return model


def choose(
    job: PlanJob, costs: Costs, placement: Placement, *, is_given: bool = False
) -> PlannedModel:
    """Build the best predicted segmentations, run them, keep the fastest with its real times.

    The whole model as one segment is always among them where one device can run it, unless the
    devices are the user's choice; several segments must be shown to be faster, so the result is
    no slower than the session that it is.

    Parameters
    ----------
    is_given : bool
        Whether the placement is the user's own, and nothing may be placed otherwise.

    Raises
    ------
    EngineError
        If the devices refuse all of them, or a query fails.
    """
    graph, params, progress = job.graph, job.params, job.progress
    keeps_bits = params.keeps_bits and not is_given
    build = CandidateBuilder(job, costs, placement.policy, keeps_bits=keeps_bits)
    found = _all(graph, costs, placement, params, None if is_given else _policy(params))
    ranked = first_plans(found, params.finalists)
    # Three rounds are played whatever the time, so long queries are compared for twice of it.
    is_over = costs.time.is_over()
    finalists = [best_known(found)] if is_over else affordable(ranked, 2 * params.selection_ns)
    built: list[ModelEntrant] = []
    for done, candidate in enumerate(finalists):
        progress("build segments", done, len(finalists))
        contender = build(candidate)
        if contender is not None:
            built.append(Entrant(candidate, contender))
    progress("build segments", len(finalists), len(finalists))
    whole = None if built else build.whole()
    if whole is not None:
        built.append(whole)
    if not built:
        raise build.refused or ExecutionError("no plan was built")
    contest = None if is_over else _compared(built, job)
    if contest is None:
        return build.finished(built[0].contender.model)
    entrant = built[contest.winner]
    turns: Sequence[ContestTurn] = contest.turns(contest.winner)
    stays = is_given or keeps_devices(params.placement_policy) or len(costs.problem.devices) == 1
    if params.selection_ns and not stays:
        progress("place again", 0, 1)
        look = SecondLook(costs, _policy(params), params.fixed_devices(), params.selection_ns)
        entrant, turns = look.best(built, contest, build)
    plans = [built_one.contender.model.plan for built_one in built]
    played = [_shown(e, costs.service, contest.turns(i)) for i, e in enumerate(built)]
    others = sorted(
        (other for i, other in enumerate(played) if other.turns and i != contest.winner),
        key=lambda other: other.wall_ns,
    )
    model = build.finished(_with_real_times(entrant, costs.service, turns))
    lanes = costs.problem.devices[0].lanes
    model.note(judgement_of(contest, contest.winner, plans, model.plan, turns, lanes))
    shown = _shown(entrant, costs.service, turns)
    model = _finished(with_other_kernels(job, build, shown, others), model, build)
    model = _narrowed(job, model, build)
    if not stays:
        progress("overlap queries", 0, 1)
        _accompany(job, model, costs, entrant, found, build)
    return model


def tune(
    job: PlanJob, costs: Costs, placement: Placement, known: Plan | None = None
) -> tuple[PlannedModel, TuningReport]:
    """Look for the best plan for ``params.tune_s`` seconds (tuning.py).

    Where there are several devices, each round places anew with the times learned.

    Parameters
    ----------
    known : Plan, optional
        What an earlier tuning found, to begin with.

    Raises
    ------
    EngineError
        If the devices refuse all plans, or a query fails.
    """
    graph, params = job.graph, job.params
    build = CandidateBuilder(job, costs, placement.policy, keeps_bits=params.keeps_bits)

    def cut(service: ServiceTimes) -> Sequence[Candidate]:
        learned = Costs(replaced(costs.problem, service), service)
        is_placed = len(costs.problem.devices) == 1 or params.placement_policy != placement.policy
        anew = (
            placement
            if is_placed
            else place(learned.problem, params.placement_policy, params.policy_options)
        )
        return candidates(learned, anew)

    tuner = Tuner(
        costs.service, cut, build, params.tuning(), time.monotonic_ns, job.progress, Watch
    )
    found = _all(graph, costs, placement, params, _policy(params))
    first = affordable(first_plans(found, 1 + params.finalists), round(params.tune_s * 5e8))
    tuned = tuner.run([*first, *stored_plan(costs, known)])
    if tuned is None:
        raise build.refused or ExecutionError("no plan was built")
    plans = [entrant.contender.model.plan for entrant in tuned.entrants]
    model = build.finished(_with_real_times(tuned.best, costs.service, tuned.turns))
    winner, lanes = list(tuned.entrants).index(tuned.best), costs.problem.devices[0].lanes
    model.note(judgement_of(tuned.contest, winner, plans, model.plan, tuned.turns, lanes))
    shown = _shown(tuned.best, costs.service, tuned.turns)
    model = _finished(with_other_kernels(job, build, shown, []), model, build)
    model = _narrowed(job, model, build)
    if not keeps_devices(params.placement_policy):
        _accompany(job, model, costs, tuned.best, found, build)
    return model, tuned.report


def _accompany(
    job: PlanJob,
    model: PlannedModel,
    costs: Costs,
    entrant: ModelEntrant,
    found: Sequence[Candidate],
    build: CandidateBuilder,
) -> None:
    """Give the model a throughput plan, if it may have one and there is a better plan for overlaps.

    It is not opened: a model whose plan is stored makes room for one that opens both.
    """
    params = job.params
    if not (params.may_have_throughput_plan() and params.selection_ns):
        return
    search = ThroughputSearch(
        costs,
        build,
        job.inputs,
        params.selection_ns,
        has_lost=lambda: job.has_lost,
        same_bits=params.departure() is Departure.SAME_BITS,
    )
    throughput_plan = search.best(entrant, found)
    if throughput_plan is not None:
        model.accompany(throughput_plan, params.departure())


def _all(
    graph: Graph, costs: Costs, placement: Placement, params: LoadParams, policy: Place | None
) -> list[Candidate]:
    stays = keeps_devices(params.placement_policy)
    return all_candidates(graph, costs, placement, policy, keeps_devices=stays)


def _policy(params: LoadParams) -> Place:
    return lambda problem: place(problem, params.placement_policy, params.policy_options)


def _compared(built: Sequence[ModelEntrant], job: PlanJob) -> Contest | None:
    """A contest of the plans that were built; None where the first one is all there is to take."""
    known = max(1, sum(entrant.is_whole for entrant in built))
    contest = Contest(
        [entrant.contender for entrant in built],
        known,
        ContestParams(),
        time.monotonic_ns,
        conditions([entrant.candidate for entrant in built]),
    )
    try:
        contest.play(time.monotonic_ns() + job.params.selection_ns)
    except ExecutionError as error:
        if len(built) > 1 or job.has_lost:
            raise
        _log.warning("times were not measured in place: %s", error)
        return None
    tell(contest, built)
    return contest


def _shown(entrant: ModelEntrant, service: ServiceTimes, turns: Sequence[ContestTurn]) -> Shown:
    shards = entrant.candidate.shards
    own = service if shards is None else shards.service
    return Shown(entrant.contender, entrant.candidate.graph, own, turns)


def _finished(
    better: PlannedModel | None, model: PlannedModel, build: CandidateBuilder
) -> PlannedModel:
    return model if better is None else build.finished(better)


def _narrowed(job: PlanJob, model: PlannedModel, build: CandidateBuilder) -> PlannedModel:
    """The model, with a plan of one lane for while its queries overlap, if there is one."""
    model.plan = with_fixed_widths(job, model, build.of_plan)
    narrow = narrow_choice(job, model, build.of_plan) if job.params.selection_ns else None
    if narrow is not None:
        model.be_narrow(narrow)
    return model


def _with_real_times(
    entrant: ModelEntrant, service: ServiceTimes, turns: Sequence[ContestTurn]
) -> PlannedModel:
    shown = _shown(entrant, service, turns)
    model = entrant.contender.model
    model.plan = in_place.refit(model.plan, shown.groups, shown.service, turns)
    return model
