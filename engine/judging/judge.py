"""Judges a model's plan again while it serves: the runner-up is tried, and the better one kept.

A plan is the best of those compared for the machine as it was then. So a few queries are looked at
every second, or more rarely where there are few; where they take another time than when the plan
was judged, where others take less of the machine now, or where the plan is provisional, its
runners-up are tried one after the other (plan_trial.py), within a share of the queries' time. What
is faster takes over between two queries.
It is stored for the next start where the machine was quiet; a judgement of a disturbed one is only
noted beside the plan, since it says nothing of the next start.
Long because a judge is one machine of states: each step reads what the others left.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

from surplus.engine.devices.spec import traits_of
from surplus.engine.errors import EngineError
from surplus.engine.judging.judge_params import JudgeParams
from surplus.engine.judging.judged import Judged, Keep
from surplus.engine.judging.plan_trial import PlanTrial
from surplus.engine.judging.watcher import WATCHER
from surplus.engine.profiling.disturbance import Disturbance, Watch
from surplus.engine.profiling.intervals import Verdict
from surplus.engine.runtime.prepared import Prepared
from surplus.engine.runtime.share import Share
from surplus.engine.segmentation.judgement import Judgement, RunnerUp, TrialOutcome, TrialRecord
from surplus.engine.segmentation.plan import Plan

_log = logging.getLogger(__name__)

_ALL = 1 << 62
"""More queries than there will be."""


class Judge:
    """Judges one model's plan. Its steps are for one thread; holds no model.

    Parameters
    ----------
    plan, judgement : Plan, Judgement
        As stored.
    keep : callable
        Stores them anew.
    ended : callable
        Called by any thread when a step is due before the time that the last one said.
    now_s : callable
        Seconds since the epoch.

    Attributes
    ----------
    share : Share
        Of the queries' time that was seen.
    """

    def __init__(
        self,
        plan: Plan,
        judgement: Judgement,
        keep: Keep,
        ended: Callable[[], object],
        *,
        params: JudgeParams | None = None,
        watch: Callable[[], Watch] = Watch,
        clock: Callable[[], int] = time.monotonic_ns,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        self._plan = plan
        self.judgement = judgement
        self._keep = keep
        self._ended = ended
        self._params = params or JudgeParams()
        self._new_watch = watch
        self._clock = clock
        self._now_s = now_s
        self.share = Share()
        self._others = [plan, *(r.read() for r in judgement.runners_up)]
        self._reference_ns = judgement.measured_ns
        self._reference = judgement.disturbance
        self._is_due = judgement.provisional
        self._queue: list[Plan] = []
        self._trial: PlanTrial | None = None
        self._resting: tuple[PlanTrial, int] | None = None
        self._trial_began_ns = 0
        self._density = 1.0
        self._looked_ns = clock()
        self._look_every_ns = self._params.look_every_ns
        self._patience_ns = self._params.patience_ns
        self._rests_until_ns = 0
        self._changed = False

    def watch(self, model: Judged) -> None:
        """As of ``PlanJudge``."""
        WATCHER.watch(model)

    def doubt(self) -> None:
        """Store the judgement as provisional, and judge the plan again."""
        self.judgement, self._is_due = replace(self.judgement, provisional=True), True
        self._keep(self._plan, self.judgement)

    def step(self, model: Judged) -> int | None:
        """Do what is due: when the last step said, and when ``ended`` was called.

        Returns
        -------
        int or None
            Nanoseconds until the next step; None while queries are waited for, of which the one
            that ends the wait calls ``ended``.
        """
        self._do(model)
        if self._trial is None:
            rest_ns = max(0, self._looked_ns + self._look_every_ns - self._clock())
            waits = self._queue or self._resting is not None
            return min(rest_ns, self._params.look_every_ns) if waits else rest_ns
        if self._trial.runner_up is None:
            return None
        return max(0, self._trial_began_ns + self._params.longest_ns + 1 - self._clock())

    @cached_property
    def _watch(self) -> Watch:
        """From the first step on: a load does not wait for it."""
        return self._new_watch()

    def _do(self, model: Judged) -> None:
        _ = self._watch
        trial = self._trial
        if trial is None:
            self._begin(model)
            return
        trial.collect()
        is_late = self._clock() - self._trial_began_ns > self._params.longest_ns
        is_late = is_late or (trial.is_crowded and not trial.is_over)
        if not (trial.is_over or trial.is_resting or is_late):
            return
        self._trial = None
        model.end_trial()
        if trial.runner_up is None:
            self._looked(trial, model)
        elif trial.is_resting and not is_late:
            self._resting, self._looked_ns = (trial, self._trial_began_ns), self._clock()
        else:
            self._tried(trial, model)

    def _begin(self, model: Judged) -> None:
        """Go on with a trial, begin the next one, or look at some queries."""
        if self._resting is not None and self._resting[0].may_go_on:
            (trial, began_ns), self._resting = self._resting, None
            if model.go_on(trial):
                self._trial, self._trial_began_ns = trial, began_ns
            return
        if self._resting is None and self._queue and self._may_open(model):
            runner_up = self._opened(model, self._queue.pop(0))
            if runner_up is not None:
                self._trial_began_ns, self._watch = self._clock(), self._new_watch()
                self._trial = self._began(model, runner_up, _ALL)
            return
        if self._clock() - self._looked_ns >= self._look_every_ns:
            self._trial_began_ns = self._clock()
            self._trial = self._began(model, None, self._params.look)

    def _began(self, model: Judged, runner_up: Prepared | None, look: int) -> PlanTrial:
        share, ended, clock = self.share, self._ended, self._clock
        return model.try_beside(
            lambda plan, switch: PlanTrial(
                plan, runner_up, switch, share, ended, look=look, clock=clock
            )
        )

    def _may_open(self, model: Judged) -> bool:
        """Whether there were queries enough to open the next runner-up's sessions beside them."""
        return self.share.affords(self._params.opening_ns if model.is_answering else 0)

    def _opened(self, model: Judged, plan: Plan) -> Prepared | None:
        """Its sessions; what they took of a core is charged where queries went on beside it."""
        began_ns, was_answering = time.thread_time_ns(), model.is_answering
        try:
            return model.prepare(plan)
        except EngineError as error:
            _log.warning("the runner-up %s is not tried: %s", plan.name, error)
            self._others = [other for other in self._others if other is not plan]
            return None
        finally:
            if was_answering or model.is_answering:
                self.share.spend(time.thread_time_ns() - began_ns)

    def _looked(self, trial: PlanTrial, model: Judged) -> None:
        """Whether what was seen is reason to try the runners-up."""
        now_ns = self._clock()
        seen = self._watch.lately(self._looked_ns)
        self._count_since_last(trial, now_ns)
        self._looked_ns = now_ns
        if self._queue or self._resting is not None or not trial.plan_ns:
            return
        ratio = trial.plan_ns / max(1, self._reference_ns)
        is_quieter = self._reference.share - seen.share > self._params.quieter
        is_apart = not 1 / self._params.apart < ratio < self._params.apart
        if is_quieter:
            self._patience_ns, self._rests_until_ns = self._params.patience_ns, 0
        if (self._is_due or is_quieter or is_apart) and now_ns >= self._rests_until_ns:
            self._is_due, self._changed = False, False
            self._queue = self._runners_up(model)
            self._rest(trial.plan_ns, seen)

    def _count_since_last(self, look: PlanTrial, now_ns: int) -> None:
        """Queries between two looks were as dense as in the one with fewer of them.

        To count each of them would take a third of one of 30 µs.
        """
        density = min(1.0, look.queries_ns / max(1, now_ns - self._trial_began_ns))
        is_sparse = density < self._params.sparse
        times = self._params.times_rarer if is_sparse else 1
        self._look_every_ns = times * self._params.look_every_ns
        if look.is_crowded:
            self._look_every_ns *= self._params.times_rarer
        between_ns = max(0, self._trial_began_ns - self._looked_ns)
        self.share.earn(round(min(density, self._density) * between_ns))
        self._density = density

    def _runners_up(self, model: Judged) -> list[Plan]:
        """Plans that may take over here and now."""
        return [
            plan
            for plan in self._others
            if not _equal(plan, model.plan) and _is_of_cpu(plan) and model.may_answer(plan)
        ]

    def _tried(self, trial: PlanTrial, model: Judged) -> None:
        assert trial.runner_up is not None
        if trial.is_crowded and not trial.is_over:
            # Once there is room; the other runners-up would find none either.
            self._is_due, self._queue, self._looked_ns = True, [], self._clock()
            self._rests_until_ns = self._looked_ns + self._patience_ns
            return
        plan, other = trial.plan.plan, trial.runner_up.plan
        ratio = trial.ratio
        if ratio is None:
            return
        faster = trial.verdict is Verdict.FASTER
        took_over = faster and model.take_over(trial.runner_up)
        outcome = TrialOutcome.TOOK_OVER if took_over else _OUTCOMES[trial.verdict]
        disturbance = self._watch.lately(self._trial_began_ns)
        self._looked_ns = self._clock()
        record = TrialRecord(
            round(self._now_s()),
            plan.name,
            other.name,
            ratio,
            outcome,
            trial.queries_ns,
            trial.lost_ns,
            disturbance,
        )
        measured_ns = trial.runner_up_ns if took_over else trial.plan_ns
        _log.info("%s: %s", model.plan.name, record.text)
        self._note(record, model.plan, measured_ns)
        self._changed |= took_over
        self._rest(measured_ns, disturbance)

    def _rest(self, measured_ns: int, disturbance: Disturbance) -> None:
        """What queries take from now on is compared with this."""
        self._reference_ns, self._reference = measured_ns, disturbance
        if self._changed:
            self._patience_ns = self._params.patience_ns
        elif not self._queue:
            self._patience_ns = min(2 * self._patience_ns, self._params.most_patience_ns)
        self._rests_until_ns = self._clock() + self._patience_ns

    def _note(self, record: TrialRecord, running: Plan, measured_ns: int) -> None:
        """Store what was found: another plan only if the machine was quiet."""
        if record.disturbance.is_quiet:
            self._plan = running
            found = self.judgement.after(record, measured_ns=measured_ns)
        else:
            found = self.judgement.noting(record)
        others = [p for p in self._others if not _equal(p, self._plan)]
        runners_up = tuple(RunnerUp.of(p, self._ratio_of(p, record)) for p in others)
        self.judgement = replace(found, runners_up=runners_up)
        self._keep(self._plan, self.judgement)

    def _ratio_of(self, plan: Plan, record: TrialRecord) -> float:
        """A runner-up's last measured time over that of the stored plan."""
        if (record.plan, record.runner_up) == (self._plan.name, plan.name):
            return record.ratio.median
        if (record.runner_up, record.plan) == (self._plan.name, plan.name):
            return 1 / record.ratio.median
        known = {r.name: r.ratio for r in self.judgement.runners_up}
        return known.get(plan.name, 0.0)


_OUTCOMES = {
    Verdict.FASTER: TrialOutcome.NEXT_START,
    Verdict.SLOWER: TrialOutcome.KEPT,
    Verdict.OPEN: TrialOutcome.OPEN,
}


def _is_of_cpu(plan: Plan) -> bool:
    """A GPU opens sessions while it is idle, not beside queries."""
    return all(traits_of(plan.devices[segment.device]).is_host for segment in plan.segments)


def _equal(plan: Plan, other: Plan) -> bool:
    """Whether both run the same segments, whatever was predicted for them."""
    return _work(plan) == _work(other)


def _work(plan: Plan) -> tuple[object, ...]:
    return tuple((s.tasks, s.device, s.width, s.rank, s.shards) for s in plan.segments)
