"""The page of a GPU's results: every figure beside its bar."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bench.gpu_check.setting import mark_of
from bench.infrastructure.result_file import markdown

_VERDICT = {True: "met", False: "MISSED", None: ""}


def summary(title: str, machine: Mapping[str, Any], parts: Mapping[str, Mapping[str, Any]]) -> str:
    """A Markdown page.

    Parameters
    ----------
    title : str
        The GPU's name; begins with EMULATED where none took part.
    parts : mapping
        Part -> unit -> what was stored of it.
    """
    rows = list(_rows(parts))
    judged = [row for row in rows if row["bar"] and row["verdict"]]
    met = sum(row["verdict"] == "met" for row in judged)
    where = ", ".join(f"{key} {value}" for key, value in machine.items())
    lines = [f"# GPU check: {title}", ""]
    if mark := mark_of(title):
        lines += [
            f"**{mark}: no GPU took part.** This shows that the check runs; its figures say"
            " nothing about any GPU.",
            "",
        ]
    lines += [f"{met} of {len(judged)} bars are met.", "", markdown(rows), "", f"*{where}*", ""]
    missing = [f"- {line}" for line in _missing(parts)]
    if missing:
        lines += ["Not measured (the same command goes on with these):", "", *missing, ""]
    return "\n".join(lines)


def _rows(parts: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for part, units in parts.items():
        for unit, found in units.items():
            for row in found.get("figures", ()):
                yield {
                    "part": part,
                    "model": unit,
                    "figure": row["what"],
                    "value": "-" if row["value"] is None else row["value"],
                    "bar": row["bar"],
                    "verdict": _VERDICT[row["met"]],
                    "note": row["note"],
                }


def _missing(parts: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for part, units in parts.items():
        for unit, found in units.items():
            if "error" in found:
                yield f"{part} {unit}: {found['error']}"
