"""What ``engine tune`` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from surplus.engine.cli.output import duration, show_mapping, show_rows

if TYPE_CHECKING:
    from surplus.engine.pipeline.making import TunedModel


def tuned_document(tuned: TunedModel) -> dict[str, Any]:
    """The plan that was found, for JSON."""
    from surplus.engine.cli.run_report import throughput_plan_of

    plan = tuned.model.plan
    return {
        "segments": len(plan.segments),
        "predicted_ms": plan.predicted.makespan_ns / 1e6,
        "lower_bound_ms": plan.bound_ns / 1e6,
        **throughput_plan_of(tuned.model),
        "path": None if tuned.path is None else str(tuned.path),
    }


def show_tuned(tuned: TunedModel) -> None:
    """Print what each round tried, and what came of it."""
    from surplus.engine.planning.tuning_report import described

    report, plan = tuned.report, tuned.model.plan
    devices = ", ".join(plan.devices)
    show_rows(f"{tuned.model.graph.name} on {devices}: what each round tried", list(report.rows()))
    errors = " -> ".join(f"{100 * played.median_error:.1f} %" for played in report.rounds)
    ratio = report.against_whole
    show_mapping(
        "result",
        {
            "plan": f"{report.chosen}, {len(plan.segments)} segments",
            "predicted": duration(plan.predicted.makespan_ns),
            "lower bound": duration(plan.bound_ns),
            f"ratio to {report.whole or 'the whole model'}": (
                described(ratio)
                if ratio
                else "1"
                if report.whole
                else "no device can run all of it"
            ),
            "median error of predictions": errors,
            "stopped": f"{report.stopped}, after {report.time_s:.1f} of {report.budget_s:g} s",
        },
    )
    if tuned.model.throughput_plan is not None:
        print(f"while queries overlap: {tuned.model.throughput_plan.text}")
    print(f"stored in {tuned.path}" if tuned.path else "not stored: the cache cannot be written")
