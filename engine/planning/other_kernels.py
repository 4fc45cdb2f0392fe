"""A chosen model with the kernels that serve it best (kernel_look.py)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from surplus.engine.contest import in_place
from surplus.engine.contest.selection import ModelContender
from surplus.engine.kernels.registry import LIBRARIES
from surplus.engine.planning.answer_check import AnswerCheck
from surplus.engine.planning.job import PlanJob
from surplus.engine.planning.kernel_look import KernelLook, Shown
from surplus.engine.planning.kernel_memory import default_bytes
from surplus.engine.planning.kernel_segments import KernelSegments
from surplus.engine.planning.kernel_widths import with_any_width
from surplus.engine.planning.library_cut import cut_around
from surplus.engine.planning.runners_up import judgement_of
from surplus.engine.planning.varied_inputs import scaled
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.segmentation.coarse import predict
from surplus.engine.segmentation.plan import Plan
from surplus.engine.segmentation.segmenter import Candidate
from surplus.engine.time_limit import left_s

FACTORS = (0.7, 1.3)
"""Of the example inputs' floating-point numbers: answers to these are compared, too. Another plan
of the same kernels differs by how it rounds; another library may differ by what it does."""

_MOST_TRIAL_S = 60.0
"""For each process that compiles segments: the largest models take a few seconds."""


class Builder(Protocol):
    """Opens candidates and plans; None of what is refused, or answers wrongly."""

    def __call__(self, candidate: Candidate) -> ModelContender | None:
        """Of a segmentation."""

    def of_plan(self, plan: Plan) -> ModelContender | None:
        """Of a plan."""


def with_other_kernels(
    job: PlanJob, build: Builder, chosen: Shown, others: Sequence[Shown]
) -> PlannedModel | None:
    """The model of a plan with other kernels than ONNX Runtime's; None where none is better.

    Slices keep ONNX Runtime's, since they are cut out of segments afterwards.

    Parameters
    ----------
    chosen, others : Shown
        The plan that runs, and what was compared with it, the best first.

    Raises
    ------
    EngineError
        If a query fails with both.
    """
    params = job.params
    asked = params.asked_kernels()
    if not asked.versions or params.slice_s or not (params.selection_ns or asked.is_forced):
        return None
    job.progress("try other kernels", 0, 1)
    limit_bytes = params.kernel_memory_bytes()
    left = left_s()
    time_s = _MOST_TRIAL_S if left is None else min(_MOST_TRIAL_S, left)
    lanes = params.specs()[0].lanes
    checks = [
        AnswerCheck(job.graph, scaled(job.inputs, factor), params.specs(), is_adversarial=False)
        for factor in FACTORS
    ]

    def checked(plan: Plan) -> ModelContender | None:
        contender = build.of_plan(plan)
        if contender is None or not all(check.accepts(contender.model) for check in checks):
            return None
        return contender

    look = KernelLook(
        [
            KernelSegments(job.graph, name, job.inputs, time_s, params.precision)
            for name in asked.versions
        ],
        checked,
        lanes,
        default_bytes() if limit_bytes is None else limit_bytes,
        params.selection_ns,
    )
    compiling = [name for name in asked.versions if not LIBRARIES[name].is_provider]
    around = _cut_around(job, build, [chosen, *others], compiling)
    won = look.forced(chosen, around) if asked.is_forced else look.better(chosen, others, around)
    job.progress("try other kernels", 1, 1)
    if won is None:
        return None
    best, plans = won.best, [entrant.plan for entrant in won.entrants]
    plan = with_any_width(look, best, job.inputs)
    model = best.contender.model
    model.plan = in_place.refit(plan, best.groups, best.service, best.turns)
    judgement = judgement_of(won.contest, won.winner, plans, model.plan, best.turns, lanes)
    # Other mixtures have other bits, and would keep all that was compiled for them.
    plain = tuple(r for r in judgement.runners_up if not r.read().libraries)
    model.note(replace(judgement, runners_up=plain))
    return model


def _cut_around(
    job: PlanJob, build: Builder, shown: Sequence[Shown], libraries: Sequence[str]
) -> list[Shown]:
    """The best whole model on the host, cut around what each library must not run."""
    wholes = [s for s in shown if len(s.groups.groups) == 1 and s.plan.shards == 1]
    if not wholes or wholes[0].groups.groups[0].device != 0:
        return []
    whole, found = wholes[0], []
    for library in libraries:
        groups = cut_around(job.graph, library, whole.groups, whole.service)
        if groups is not None:
            width = groups.groups[0].width
            candidate = Candidate(f"library cut x{width}", groups, predict(groups, whole.service))
            contender = build(candidate)
            if contender is not None:
                found.append(Shown(contender, groups, whole.service, ()))
    return found
