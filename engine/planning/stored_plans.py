"""What is stored of a model: every plan, for what, on what grounds, judged again when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import PlacementError
from surplus.engine.planning.stored_plan import DamagedError, document_of, read_document
from surplus.engine.segmentation.judgement import Judgement, TrialRecord
from surplus.engine.segmentation.plan import Plan


@dataclass(frozen=True)
class Kept:
    """A stored plan and what it was made for.

    Parameters
    ----------
    made_for : dict
        As in docs/FORMATS.md.
    is_tuned : bool
    judgement : Judgement or None
        None if it was compared with no other plan.
    """

    path: Path
    plan: Plan
    made_for: dict[str, Any]
    is_tuned: bool
    judgement: Judgement | None

    @property
    def last_trial(self) -> TrialRecord | None:
        """In service."""
        trials = self.judgement.trials if self.judgement else ()
        return trials[-1] if trials else None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; runners-up by name and ratio."""
        judgement = None if self.judgement is None else self.judgement.to_dict()
        for runner_up in judgement["runners_up"] if judgement else ():
            del runner_up["plan"]
        return {
            "path": str(self.path),
            "plan": self.plan.name,
            "segments": len(self.plan.segments),
            "predicted_ns": self.plan.predicted.makespan_ns,
            "tuned": self.is_tuned,
            "made_for": self.made_for,
            "judgement": judgement,
        }


def stored_plans(graph: Graph) -> list[Kept]:
    """All that are stored of a graph in this version's format, the last used first."""
    paths = sorted(graph.folder.glob("plan-*.json"), key=lambda p: -p.stat().st_mtime_ns)
    return list(_readable(paths))


def _readable(paths: list[Path]) -> Iterator[Kept]:
    for path in paths:
        try:
            document = document_of(read_document(path))
            plan, is_tuned = Plan.from_dict(document.plan), document.tuning is not None
            yield Kept(path, plan, dict(document.made_for), is_tuned, document.judgement)
        except (FileNotFoundError, UnicodeError, DamagedError, PlacementError):
            continue  # nobody uses it either
