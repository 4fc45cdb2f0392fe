"""What ``engine top`` prints: tables of models and lanes, and why queries were late."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from surplus.engine.cli.output import duration, show_rows, show_text, three_digits

Row = dict[str, Any]

_MOST_WAITS = 3
_MOST_QUERIES = 10
_MOST_PARTS = 3


def clear(live: bool) -> None:
    """Before the next look, where it is one of many on a terminal."""
    if live and sys.stdout.isatty():
        from surplus.engine.cli.console import stdout_console
        from surplus.engine.cli.output import WIDTH

        stdout_console(WIDTH).clear()


def show_top(found: Row) -> None:
    """Print the tables of each machine: models, then lanes; and how policies do."""
    shown = [machine for machine in found["machines"] if machine["models"]]
    for machine in shown:
        window = duration(machine["window_ns"])
        devices = ", ".join(machine["devices"])
        show_rows(f"Models on {devices}, the last {window}", list(map(_model, machine["models"])))
        background = f"background {100 * machine['background_share']:.0f} % of the lanes' time"
        show_rows(f"Lanes, {background}", list(map(_lane, machine["lanes"])))
    if not shown:
        show_text("no model is loaded")
    policies = found.get("policies") or ()  # an older server says nothing of them
    if policies:
        show_rows("Policies: queries that have ended or are late", list(map(_policy, policies)))


def show_late(found: Row) -> None:
    """Print what late queries waited for, summed up and one by one."""
    for row in found["models"]:
        show_text("\n".join(row["sentences"]))
        shares = [
            {
                "time went to": _label(share["category"]),
                "because of": share["culprit"] or "",
                "share": f"{100 * share['share']:5.1f} %",
            }
            for share in row["shares"]
        ]
        if shares:
            show_rows(f"All of the time of {row['model']}'s late queries", shares)
            queries = row["queries"][-_MOST_QUERIES:]
            title = f"The last {len(queries)} of {row['late']} late queries"
            show_rows(title, list(map(_query, queries)))
    if not any(row["late"] for row in found["models"]):
        show_text("no query that was recorded came late")


def _model(row: Row) -> Row:
    times = row["latency_ns"]
    shown = {name: "-" if ns is None else duration(ns) for name, ns in times.items()}
    return {
        "model": row["model"],
        "due": _due(row),
        "a second": three_digits(row["rate_per_s"]),
        "p50": shown["p50"],
        "p95": shown["p95"],
        "p99": shown["p99"],
        "worst": shown["p100"],
        "misses": _misses(row),
        "waits for": _waits(row),
    }


def _policy(row: Row) -> Row:
    offered = max(1, row["offered"])
    return {
        "policy": row["name"],
        "of the last": duration(row["window_ns"]),
        "queries": row["offered"],
        "in time": f"{row['in_time']} ({100 * row['in_time'] / offered:.3g} %)",
        "any policy at most": f"{row['most']:.0f} ({100 * row['most'] / offered:.3g} %)",
        "devices needed": f"{row['need']:.2f} of {row['devices']}",
    }


def _due(row: Row) -> str:
    if row["best_effort"]:
        return "best effort"
    due = "-" if row["due_after_ns"] is None else duration(row["due_after_ns"])
    return f"{due}, priority {row['priority']}" if row["priority"] else due


def _misses(row: Row) -> str:
    if not row["queries"]:
        return "-"
    return f"{row['misses']} ({100 * row['misses'] / row['queries']:.3g} %)"


def _waits(row: Row) -> str:
    waits = [f"{w['model']} {100 * w['share']:.0f} %" for w in row["waits_for"]]
    return ", ".join(waits[:_MOST_WAITS])


def _lane(row: Row) -> Row:
    window_ns = max(1, row["window_ns"])
    models = [f"{name} {100 * ns / window_ns:.0f} %" for name, ns in row["models_ns"].items()]
    return {
        "lane": f"{row['device']} {row['lane']}" + ", best effort" * row["best_effort"],
        "busy": f"{100 * row['busy_share']:3.0f} %",
        "lent": f"{100 * row['lent_ns'] / window_ns:3.0f} %",
        "for": ", ".join(models),
    }


def _query(row: Row) -> Row:
    parts = [
        f"{_label(part['category'])} {duration(part['ns'])}{_whose(part['culprit'])}"
        for part in row["parts"][:_MOST_PARTS]
    ]
    return {
        "late by": duration(row["late_ns"]),
        "took": duration(row["end_ns"] - row["begun_ns"]),
        "of which": "; ".join(parts),
    }


def _whose(culprit: Mapping[str, Any] | None) -> str:
    if culprit is None:
        return ""
    if not culprit["segment"]:  # another process
        return f" ({culprit['model']})"
    place = f"lane {culprit['lane']} of {culprit['device']}"
    return f" ({culprit['model']}'s {culprit['segment']}, {place})"


def _label(category: str) -> str:
    return category.replace("_", " ")
