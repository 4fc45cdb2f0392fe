"""Loads a model of a server, and shows how far it is."""

from __future__ import annotations

from surplus.engine.cli.output import duration
from surplus.engine.cli.progress import progress_bar
from surplus.engine.pipeline.loading import load_with
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.repository.layout import RepositoryEntry
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.segmentation.plan import Plan
from surplus.engine.serving.say import say
from surplus.engine.serving.warm_up import real_inputs


def loaded_with_progress(entry: RepositoryEntry, params: LoadParams) -> PlannedModel:
    """Load it, and say which plan it runs."""
    say(f"loading {entry.name} from {entry.path}")
    with progress_bar() as progress:
        model = load_with(entry.path, params, real_inputs(entry.config), progress)
    say(f"{entry.name}: {plan_text(model.plan)}")
    if model.throughput_plan is not None:
        say(f"{entry.name}: while queries overlap, {model.throughput_plan.text}")
    return model


def plan_text(plan: Plan) -> str:
    """What a plan is and how long it takes, if that was measured."""
    text = f"{len(plan.segments)} segments ({plan.name})"
    if plan.predicted.makespan_ns == 0:  # its name says so
        return text
    return (
        f"{text}, predicted makespan {duration(plan.predicted.makespan_ns)},"
        f" lower bound {duration(plan.bound_ns)}"
    )
