"""What ``engine memory`` prints."""

from __future__ import annotations

from typing import Any

from surplus.engine.cli.output import show_rows

_MIB = 2**20


def show_report(report: dict[str, Any]) -> None:
    """Print the tables: what is held, then where the weights and activations are."""
    plan, ratio = report["plan"], report["ratio"]
    rows = [
        _row("after loading", report, "loaded", "resident_bytes"),
        _row("after queries", report, "steady", "resident_bytes"),
        _row("of it private (heap, arena)", report, "steady", "private_bytes"),
        _row("of it this process's share", report, "steady", "share_bytes"),
        _row("of it pages counted twice", report, "steady", "counted_twice_bytes"),
        _row("peak", report, "steady", "peak_bytes"),
        _row("process before the model", report, "base", "resident_bytes"),
    ]
    rows.append({"MiB": "threads", **{k: str(report[k]["threads"]) for k in ("planned", "plain")}})
    rows.append({"MiB": "peak ratio", "planned": f"{ratio['peak']:.2f}", "plain": "1"})
    show_rows(f"{report['model']}: {plan['segments']} segments ({plan['name']})", rows)
    show_rows("Weights and activations", _details(report))


def _row(label: str, report: dict[str, Any], stage: str, field: str) -> dict[str, str]:
    return {
        "MiB": label,
        **{kind: _mib(report[kind][stage][field]) for kind in ("planned", "plain")},
    }


def _details(report: dict[str, Any]) -> list[dict[str, str]]:
    weights, activations = report["weights"], report["activations"]
    arena = report["planned"]["steady"]["private_bytes"]
    arena -= report["planned"]["loaded"]["private_bytes"]
    unknown = f", {activations['unknown']} tensors of unknown size" * bool(activations["unknown"])
    mapped = f"{weights['files']} files in {weights['mappings']} mappings"
    rows = {
        "weights as the model has them": (weights["original_bytes"], "one file"),
        "weights in blocks or packed": (
            weights["rewritten_bytes"],
            f"{weights['rewritten_files']} files, with what they replace",
        ),
        "weights mapped": (weights["file_bytes"], mapped),
        "weights resident": (weights["resident_bytes"], "shared by all processes"),
        "weights copied": (weights["private_bytes"], "private pages of these mappings"),
        "weights of other kernels": (weights["kernels_bytes"], "their own, at most"),
        "activations, predicted peak": (activations["peak_bytes"], f"one query{unknown}"),
        "arena, measured": (arena, "private growth by queries"),
    }
    return [{"what": k, "MiB": _mib(size), "note": note} for k, (size, note) in rows.items()]


def _mib(size: int) -> str:
    return f"{size / _MIB:.1f}"
