"""What a contest says of the plan that it chose: how sure that is, and what else it may be."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import replace

from surplus.engine.contest.conditions import Conditions
from surplus.engine.contest.contest import Contest, ContestTurn
from surplus.engine.devices.spec import traits_of
from surplus.engine.profiling.disturbance import Watch
from surplus.engine.runtime.same_bits import same_bits
from surplus.engine.segmentation.judgement import Judgement, RunnerUp
from surplus.engine.segmentation.plan import Plan
from surplus.engine.segmentation.segmenter import Candidate
from surplus.placement.timeline import Timeline

_RUNNERS_UP = 3
"""So many are kept: each keeps its segments' files."""


_WORTH_WIDE_NS = 1_000_000
"""A model that takes less on one lane gains little from others, and loses much where one of them
has to wait for its core."""


def conditions(candidates: Sequence[Candidate]) -> Conditions:
    """To compare candidates under, whole models first: a watch on the machine from now on.

    While others take cores, neither turns nor the profile, which was measured just before, say
    what a plan for many lanes would take. So the whole model gets all of them there, as ONNX
    Runtime would give it, and what is better is found in service. With several devices turns decide
    all the same.
    """
    whole = [i for i, candidate in enumerate(candidates) if candidate.is_trivial]
    groups = [candidates[i].graph.groups[0] for i in whole]
    if not whole or any(group.device for c in candidates for group in c.graph.groups):
        return Conditions(Watch())
    narrow_ns = candidates[whole[0]].predicted.makespan_ns
    pick = max if narrow_ns >= _WORTH_WIDE_NS else min
    return Conditions(Watch(), pick(whole, key=lambda i: groups[whole.index(i)].width))


def judgement_of(
    contest: Contest,
    winner: int,
    plans: Sequence[Plan],
    chosen: Plan,
    turns: Sequence[ContestTurn],
    lanes: int,
    at_s: int | None = None,
) -> Judgement:
    """How a plan was found to be the best of those that a contest compared.

    Parameters
    ----------
    winner : int
        Which of the contenders was taken.
    plans : sequence of Plan
        Of the contenders, in their order; the prediction of each is that before the contest.
    chosen : Plan
        What the winner became, or a plan that came of it.
    turns : sequence of ContestTurn
        Its turns.
    lanes : int
        Of the CPU.
    at_s : int, optional
        When, since the epoch; now by default.
    """
    others = [
        RunnerUp.of(plan, _told(contest.against(index, winner).median))
        for index, plan in enumerate(plans)
        if index != winner and contest.turns(index)
    ]
    known = [chosen, *plans]
    others += [
        RunnerUp.of(plan, 0.0)
        for plan in other_widths(chosen, lanes)
        if not any(same_bits(plan, k) and _widths(plan) == _widths(k) for k in known)
    ]
    others.sort(key=lambda other: (not same_bits(other.read(), chosen), other.ratio))
    return Judgement(
        at_s=round(time.time()) if at_s is None else at_s,
        disturbance=contest.disturbance,
        provisional=contest.is_disturbed,
        measured_ns=round(statistics.median(turn.wall_ns for turn in turns)),
        predicted_ns=plans[winner].predicted.makespan_ns,
        runners_up=tuple(others[:_RUNNERS_UP]),
    )


def other_widths(plan: Plan, lanes: int) -> list[Plan]:
    """The whole model of the CPU at the other widths that are tried; nothing of other plans."""
    if plan.libraries:  # the widths of its kernels were compared already
        return []
    if len(plan.segments) != 1 or not traits_of(plan.devices[plan.segments[0].device]).is_host:
        return []
    (segment,) = plan.segments
    return [
        replace(
            plan,
            name=f"whole x{width}",
            segments=(replace(segment, width=width),),
            predicted=Timeline((), plan.predicted.origin),
            bound_ns=0,
        )
        for width in (1, lanes)
        if width != segment.width
    ]


def _widths(plan: Plan) -> list[int]:
    return sorted(segment.width for segment in plan.segments)


def _told(ratio: float) -> float:
    return ratio if math.isfinite(ratio) else 0.0
