"""``engine plans``: what is stored of a model, and on what grounds."""

from __future__ import annotations

import argparse
import datetime
from typing import TYPE_CHECKING, Any

from surplus.engine.cli.options import add_json, add_model
from surplus.engine.cli.output import duration, show_json, show_rows
from surplus.engine.cli.parser import add_verb

if TYPE_CHECKING:
    from surplus.engine.planning.stored_plans import Kept

_SUMMARY = "show which plans of a model are stored, measured when, how disturbed, judged again when"
_EXAMPLE = "engine plans model.onnx"


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = add_verb(verbs, "plans", _SUMMARY, _EXAMPLE, run)
    add_model(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Read what is stored and print it."""
    from surplus.engine.planning.stages import read_model
    from surplus.engine.planning.stored_plans import stored_plans

    found = stored_plans(read_model(args.model, args.cache))
    if args.json:
        show_json([kept.to_dict() for kept in found])
    elif not found:
        print(f"no plan of {args.model} is stored")
    else:
        show_rows(f"plans of {args.model}", [_row(kept) for kept in found])
    return 0


def _row(kept: Kept) -> dict[str, str]:
    judgement, trial = kept.judgement, kept.last_trial
    row = {
        "plan": f"{kept.plan.name}, {len(kept.plan.segments)} segments",
        "devices": ", ".join(kept.made_for.get("devices", ())),
        "predicted": duration(kept.plan.predicted.makespan_ns),
    }
    if judgement is None:
        return {**row, "measured": "-", "taken": "-", "state": "-", "runners-up": "-", "tried": "-"}
    return {
        **row,
        "measured": f"{duration(judgement.measured_ns)}, {_date(judgement.at_s)}",
        "taken": f"{100 * judgement.disturbance.share:.0f} %",
        "state": "provisional" if judgement.provisional else "judged",
        "runners-up": ", ".join(f"{r.name} {_ratio(r.ratio)}" for r in judgement.runners_up) or "-",
        "tried": "-" if trial is None else f"{_date(trial.at_s)}: {trial.text}",
    }


def _ratio(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio else "?"


def _date(at_s: int) -> str:
    return datetime.datetime.fromtimestamp(at_s).strftime("%Y-%m-%d %H:%M")
