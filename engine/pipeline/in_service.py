"""Has a loaded model's plan judged again while it serves, and what is found be stored."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from engine.pipeline.plan_question import PlanQuestion
from engine.pipeline.stored_plan import StoredPlan, write_plan
from engine.runtime.judgement import Judgement
from engine.runtime.model import Model
from engine.runtime.same_bits import same_bits
from engine.segmentation.plan import Plan


def judge_in_service(model: Model, path: Path, question: PlanQuestion, stored: StoredPlan) -> None:
    """Have the model judged from now on, if its plan was compared with others.

    Parameters
    ----------
    path, question, stored : Path, PlanQuestion, StoredPlan
        Where its plan is kept, for what, and what is kept of it (stored_plan.py).
    """

    def keep(plan: Plan, judgement: Judgement) -> None:
        checked = stored.checked if same_bits(plan, stored.plan) else None
        write_plan(path, question, replace(stored, plan=plan, judgement=judgement, checked=checked))

    model.be_judged(keep)
