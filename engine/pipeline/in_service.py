"""Has a loaded model's plan judged again while it serves, and what is found be stored."""

from __future__ import annotations

import json
import logging
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

from surplus.engine.errors import PlacementError
from surplus.engine.planning.job import PlanJob
from surplus.engine.planning.plan_question import PlanQuestion
from surplus.engine.planning.stored_plan import StoredPlan, read_document, write_plan
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.runtime.same_bits import same_bits
from surplus.engine.segmentation.judgement import Judgement
from surplus.engine.segmentation.plan import Plan

_log = logging.getLogger(__name__)


def judge_in_service(model: PlannedModel, job: PlanJob, stored: StoredPlan) -> None:
    """Have the model judged from now on, if its plan was compared with others.

    Parameters
    ----------
    job, stored : PlanJob, StoredPlan
        For what its plan is kept, and what is kept of it (stored_plan.py).
    """
    judgement = model.judgement
    if judgement is not None:
        from surplus.engine.judging.judge import Judge  # a first answer does without
        from surplus.engine.judging.watcher import WATCHER

        keeper = _Keeper(job.stored_at, job.question, stored)
        there = weakref.ref(model)  # another may answer in its place by then
        wake = lambda: WATCHER.wake(there())  # noqa: E731
        model.be_judged(Judge(model.plan, judgement, keeper, wake))


class _Keeper:
    """Stores judgements of one plan until somebody else has stored another."""

    def __init__(self, path: Path, question: PlanQuestion, stored: StoredPlan) -> None:
        self._path = path
        self._question = question
        self._stored = stored

    def __call__(self, plan: Plan, judgement: Judgement) -> None:
        """Store a plan and its judgement in the place of the one before."""
        if _segments_at(self._path) not in (None, _segments(self._stored.plan)):
            _log.info("%s: not noted, since another process stored another plan", self._path)
            return
        checked = self._stored.checked if same_bits(plan, self._stored.plan) else None
        self._stored = replace(self._stored, plan=plan, judgement=judgement, checked=checked)
        write_plan(self._path, self._question, self._stored)


def _segments(plan: Plan) -> Any:
    return json.loads(plan.to_json())["segments"]


def _segments_at(path: Path) -> Any:
    """Of the plan that is stored there; None if there is none that could be used."""
    try:
        return read_document(path)["plan"]["segments"]
    except (OSError, UnicodeError, PlacementError, KeyError, TypeError):
        return None
