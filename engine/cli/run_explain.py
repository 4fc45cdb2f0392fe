"""What ``engine run --explain`` prints: where a query's time went."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surplus.engine.cli.output import duration, show_rows
from surplus.engine.explain.breakdown import Breakdown
from surplus.engine.report.explanation import Explanation, Row, explain
from surplus.engine.runtime.planned_model import PlannedModel

_STEPS = 8
_TYPES = 3
_NAME_CHARACTERS = 26


def explained(model: PlannedModel, inputs: Mapping[str, Any], runs: int) -> Explanation:
    """Trace ``runs`` queries, after one that warms the traced path up."""
    model.run(inputs, traced=True)
    breakdowns: list[Breakdown] = []
    for _ in range(runs):
        model.run(inputs, traced=True)
        breakdowns.append(model.breakdown())
    return explain(model, breakdowns)


def show_explanation(explanation: Explanation) -> None:
    """Print the tables: parts, prediction, critical path, lanes."""
    found = explanation.document()
    total = duration(found["total_ns"])
    several = f"median of {found['runs']} traced runs, {_range(found)}"
    show_rows(f"Where {total} went ({several})", _parts(found))
    show_rows("Predicted and measured", _beside(found))
    steps, all_steps = _longest(found["path"]), len(found["path"])
    show_rows(f"The critical path: {len(steps)} of {all_steps} steps, longest first", steps)
    show_rows(f"Lanes and links during these {total}", _lanes(found["lanes"]))


def _range(found: Row) -> str:
    return f"{duration(found['shortest_ns'])} to {duration(found['longest_ns'])}"


def _parts(found: Row) -> list[Row]:
    measured = [row for row in found["parts"] if row["ns"] or row["mean_share"]]
    rows = [
        {
            "time in": _label(row["category"]),
            "on": row["resource"],
            "time": _time(row["ns"]),
            "share": _share(row["share"]),
            "mean of all runs": _share(row["mean_share"]),
            "without it at best": _time(row["without_ns"]),
        }
        for row in measured
    ]
    whole = sum(row["share"] for row in measured)
    return [*rows, {"time in": "all", "time": _time(found["total_ns"]), "share": _share(whole)}]


def _beside(found: Row) -> list[Row]:
    rows = [
        {
            "time in": _label(row["category"]),
            "on": row["resource"],
            "predicted": _time(row["predicted_ns"]),
            "measured": _time(row["ns"]),
            "measured - predicted": _time(row["ns"] - row["predicted_ns"]),
        }
        for row in found["parts"]
    ]
    predicted_ns, total_ns = found["predicted_ns"], found["total_ns"]
    return [
        *rows,
        {
            "time in": "all",
            "predicted": _time(predicted_ns),
            "measured": _time(total_ns),
            "measured - predicted": _time(total_ns - predicted_ns),
        },
    ]


def _longest(path: list[Row]) -> list[Row]:
    ranked = sorted(path, key=lambda row: -row["share"])[:_STEPS]
    return [
        {
            "segment or copy": _end(row["name"]),
            "on": row["resource"] if row["width"] == 1 else f"{row['resource']} x{row['width']}",
            "works": _time(row["work_ns"]),
            "waited": _time(row["waited_ns"]),
            "share": _share(row["share"]),
            "operators": _operators(row["operators"]),
        }
        for row in ranked
    ]


def _lanes(rows: list[Row]) -> list[Row]:
    return [
        {
            "on": row["resource"],
            "lane": "link" if row["lane"] is None else str(row["lane"]),
            "busy": _time(row["busy_ns"]),
            "idle": _time(row["idle_ns"]),
            "busy share": _share(row["busy_share"]),
        }
        for row in rows
    ]


def _operators(types: Mapping[str, int]) -> str:
    shown = [f"{name} {count}" for name, count in list(types.items())[:_TYPES]]
    return ", ".join(shown + ["..."] * (len(types) > _TYPES))


def _end(name: str) -> str:
    """A name's end, which tells more than its beginning where it is too long."""
    return name if len(name) <= _NAME_CHARACTERS else f"..{name[2 - _NAME_CHARACTERS :]}"


def _label(category: str) -> str:
    return category.replace("_", " ")


def _time(time_ns: int) -> str:
    return f"{duration(time_ns):>8}"


def _share(share: float) -> str:
    return f"{100 * share:5.1f} %"
