"""Latency of one query at a time, the prediction of it, and how far the two sides overlap."""

from __future__ import annotations

import statistics

from bench.gpu_check.contender import ENGINE, of_model, peers
from bench.gpu_check.figures import LATENCY, OVERLAP, PREDICTED, Figure, Found, figure
from bench.gpu_check.overlap_share import overlap_share
from bench.gpu_check.parts import ModelSpec
from bench.gpu_check.setting import Setting
from bench.gpu_check.side_by_side import side_by_side
from bench.gpu_check.subject import Subject
from surplus.engine.runtime.planned_model import PlannedModel

TRACED = 9


def measure(spec: ModelSpec, setting: Setting) -> Found:
    """The engine and ONNX Runtime in turns, then traced queries of the engine alone."""
    subject = Subject(spec, setting)
    model = subject.engine()
    contenders = [of_model(ENGINE, model, subject.inputs), *peers(subject)]
    ratio, times = side_by_side(contenders, setting.budget_s)
    rows = [figure("latency: engine / ONNX Runtime", ratio, LATENCY)]
    rows += _predictions(subject, model, times[ENGINE])
    rows.append(_overlap(subject, model))
    return Found(tuple(rows), {"ms": times, "plan": model.plan.name, **_sizes(model)})


def _predictions(subject: Subject, model: PlannedModel, measured_ms: float) -> list[Figure]:
    first_ns = subject.predicted_at_first_ns(model.plan)
    return [
        figure(
            "makespan: predicted from operators / measured",
            first_ns / 1e6 / measured_ms,
            PREDICTED,
        ),
        figure(
            "makespan: predicted from segments in place / measured",
            model.plan.predicted.makespan_ns / 1e6 / measured_ms,
            PREDICTED,
        ),
    ]


def _overlap(subject: Subject, model: PlannedModel) -> Figure:
    name, shares = subject.setting.specs[subject.setting.gpu].name, []
    for _ in range(TRACED):
        model.run(dict(subject.inputs), traced=True)
        share = overlap_share(model.timeline(), name)
        if share is None:
            return figure("overlap of GPU and CPU", None, OVERLAP, "one side does nothing")
        shares.append(share)
    return figure("overlap of GPU and CPU", statistics.median(shares), OVERLAP)


def _sizes(model: PlannedModel) -> dict[str, object]:
    devices = model.plan.devices
    return {
        "segments": {
            name: sum(devices[s.device] == name for s in model.plan.segments) for name in devices
        },
        "copies": len(model.plan.copies),
        "captured": sum(segment.captured for segment in model.plan.segments),
    }
