"""What ``engine run`` reports and draws of a model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from surplus.engine.cli.output import duration, show_json, show_mapping, three_digits
from surplus.engine.cli.run_explain import show_explanation
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.report.captures import captures
from surplus.engine.report.comparison import compare, repeat
from surplus.engine.report.explanation import Explanation
from surplus.engine.report.gantt import write_gantt
from surplus.engine.report.trace import write_trace
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.segmentation.plan import Plan

_LONGER = 1.5
"""Times the prediction, from which on it is no prediction of this machine."""


def report_of(
    model: PlannedModel, inputs: Mapping[str, Any], rounds: int, plain: Path | None, devices: str
) -> dict[str, Any]:
    """The plan in numbers and measured times.

    Parameters
    ----------
    rounds : int
        Timed queries.
    plain : Path or None
        The ONNX file to run in a plain session in between.
    devices : str
        As they were asked for.
    """
    plan = model.plan
    report = {
        "policy": plan.policy,
        "segmentation": plan.name,
        "segments": len(plan.segments),
        "wide": sum(segment.width > 1 for segment in plan.segments),
        **captures(plan, model.native.captured_nodes),
        "predicted_ms": plan.predicted.makespan_ns / 1e6,
        "lower_bound_ms": plan.bound_ns / 1e6,
        **model.facts,
        **throughput_plan_of(model),
        **(compare(model, inputs, rounds, plain) if plain else repeat(model, inputs, rounds)),
    }
    note = emulation_note(plan, devices, report["median_ms"])
    return {**report, "note": note} if note else report


def emulation_note(plan: Plan, devices: str, median_ms: float) -> str:
    """Why queries take longer than an emulated GPU charges; empty where they do not.

    Parameters
    ----------
    devices : str
        As they were asked for.
    """
    charged = {plan.devices[s.device] for s in plan.segments}
    names = sorted(
        spec.name
        for spec in parse_devices(devices or "cpu")
        if spec.traits.is_emulated and not spec.replay and spec.name in charged
    )
    if not names or median_ms <= _LONGER * plan.predicted.makespan_ns / 1e6:
        return ""
    return (
        f"{names[0]} stands for a GPU and computes with this CPU's kernels, which take longer than"
        " it charges: the prediction is the GPU's, the median is not. With [replay] it charges"
        " what this CPU takes"
    )


def throughput_plan_of(model: PlannedModel) -> dict[str, str]:
    """The plan for while queries overlap and why there is one, in words; nothing without one."""
    throughput_plan = model.throughput_plan
    return {} if throughput_plan is None else {"while_queries_overlap": throughput_plan.text}


def show_report(
    title: str, report: Mapping[str, Any], explanation: Explanation | None, *, as_json: bool
) -> None:
    """Print a report, and an explanation if there is one."""
    if as_json:
        more = {} if explanation is None else {"explain": explanation.document()}
        show_json({**report, **more})
        return
    show_mapping(title, _shown(report))
    if explanation is not None:
        show_explanation(explanation)


def draw(title: str, explanation: Explanation, trace: Path | None, gantt: Path | None) -> None:
    """Write the median traced run, beside its prediction."""
    breakdowns = {"predicted": explanation.predicted, "measured": explanation.median}
    timelines = {name: breakdown.timeline for name, breakdown in breakdowns.items()}
    if trace:
        write_trace(trace, timelines, breakdowns)
    if gantt:
        write_gantt(gantt, timelines["measured"], predicted=timelines["predicted"], title=title)


def _shown(report: Mapping[str, Any]) -> dict[str, Any]:
    """A report for people: times with their units."""
    return {
        key.removesuffix("_ms"): duration(value * 1e6) if key.endswith("_ms") else _number(value)
        for key, value in report.items()
    }


def _number(value: Any) -> Any:
    return three_digits(value) if isinstance(value, float) else value
