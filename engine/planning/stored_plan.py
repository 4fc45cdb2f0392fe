"""Plans kept beside their model in the cache, for the next start.

The file is the SHA-256 of the JSON and a line break, then that JSON (docs/FORMATS.md): what was
cut short, damaged or edited is not used, nor is what was made for anything else than is asked;
the log says why.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from surplus.engine.cache.private import read_private, write_private
from surplus.engine.devices.host import machine_fingerprint
from surplus.engine.devices.spec import DeviceSpec
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import PlacementError
from surplus.engine.examples.open_sizes import open_sizes
from surplus.engine.native import load_runtime
from surplus.engine.planning.plan_question import PlanQuestion
from surplus.engine.runtime.stacks import Stacks
from surplus.engine.runtime.throughput_plan import ThroughputPlan
from surplus.engine.segmentation.judgement import Judgement
from surplus.engine.segmentation.plan import Plan, Segment
from surplus.engine.segmentation.planned_graph import planned_graph
from surplus.engine.store.prepacked import processor_key
from surplus.placement.records import read_formatted

_log = logging.getLogger(__name__)

FORMAT = "surplus-stored-plan/3"
EARLIER = ("surplus-stored-plan/1",)
"""Not used any more: made without a word of how disturbed the machine was."""


@dataclass(frozen=True)
class StoredPlan:
    """A plan, and what is known of it.

    Parameters
    ----------
    tuning : mapping, optional
        Its report, if it was tuned rather than chosen quickly.
    throughput plan : Throughput plan, optional
        For queries that overlap.
    judgement : Judgement, optional
        On what grounds the plan is used, and its runners-up; None if nothing was compared.
    checked : mapping, optional
        How its answers compared with the whole model's (answer_check.py): ``processor``,
        ``output`` and ``difference``; None if nobody compared them.
    narrow_plan : Plan, optional
        The whole model on one lane, with the same bits (narrow_choice.py).
    stacks : Stacks, optional
        How queries that overlap may be answered together; None if nobody has looked.
    """

    plan: Plan
    tuning: Mapping[str, Any] | None = None
    throughput_plan: ThroughputPlan | None = None
    judgement: Judgement | None = None
    checked: Mapping[str, Any] | None = None
    narrow_plan: Plan | None = None
    stacks: Stacks | None = None

    @property
    def is_proven_here(self) -> bool:
        """Whether its answers were compared on a processor like this one, with its kernels."""
        return self.checked is not None and self.checked.get("processor") == processor_key()


def plan_path(
    graph: Graph,
    specs: Sequence[DeviceSpec],
    policy: str,
    options: Mapping[str, Any],
    inputs: Mapping[str, Any] = MappingProxyType({}),
) -> Path:
    """Where the plan for these devices, this policy, these open sizes and this machine lies.

    ``plan-WHAT-WHERE.json``: one hash of what is asked, one of the machine and ONNX Runtime, so
    that machines may share a cache.
    """
    sizes = sorted(open_sizes(graph, inputs).items())
    what = _digest((tuple(specs), policy, sorted(options.items()), sizes))
    where = _digest((load_runtime(), machine_fingerprint()))
    return graph.folder / f"plan-{what[:16]}-{where[:8]}.json"


def read_plan(path: Path, graph: Graph, question: PlanQuestion) -> StoredPlan | None:
    """The stored plan, or None if there is none, it is damaged, or of something else.

    Where there is none, plans for the same question from other machines or versions of ONNX
    Runtime are named in the log, with what differs.
    """
    if not path.exists():
        for other in _elsewhere(path, graph):
            _refused(other, graph, question)
        return None
    return _refused(path, graph, question)


def write_plan(path: Path, question: PlanQuestion, stored: StoredPlan) -> bool:
    """Keep a plan, whole or not at all; a cache that cannot be written costs only that.

    Returns
    -------
    bool
        Whether it was stored.
    """
    document = {
        "format": FORMAT,
        "made_for": question.to_dict(),
        "tuning": stored.tuning,
        "plan": json.loads(stored.plan.to_json()),
        "throughput_plan": None
        if stored.throughput_plan is None
        else stored.throughput_plan.to_dict(),
        "judgement": None if stored.judgement is None else stored.judgement.to_dict(),
        "checked": stored.checked,
        "narrow_plan": None
        if stored.narrow_plan is None
        else json.loads(stored.narrow_plan.to_json()),
        "stacks": None if stored.stacks is None else asdict(stored.stacks),
    }
    text = json.dumps(document)
    digest = hashlib.sha256(text.encode()).hexdigest()
    try:
        write_private(path, f"{digest}\n{text}".encode())
    except OSError as error:
        _log.warning("the plan is not stored: %s", error)
        return False
    return True


def _refused(path: Path, graph: Graph, question: PlanQuestion) -> StoredPlan | None:
    """Read a file; what speaks against it goes to the log."""
    try:
        return _read(path, graph, question)
    except (OSError, UnicodeError, PlacementError) as error:
        _log.warning("the stored plan %s is not used: %s", path, error)
        return None


def _read(path: Path, graph: Graph, question: PlanQuestion) -> StoredPlan:
    document = document_of(read_document(path))
    differences = question.differences(document.made_for)
    if differences:
        raise PlacementError(f"made for something else: {'; '.join(differences)}")
    with suppress(OSError):  # the cache may not be ours to write
        os.utime(path)
    stored = document.read()
    _check(stored.plan, graph)
    if stored.throughput_plan is not None:
        _check(stored.throughput_plan.plan, graph)
    if stored.narrow_plan is not None:
        _check(stored.narrow_plan, graph)
    return stored


@dataclass(frozen=True)
class StoredDocument:
    """The file of a plan: what it was made for, and the fields of ``StoredPlan``."""

    made_for: Mapping[str, Any]
    plan: Mapping[str, Any]
    tuning: Mapping[str, Any] | None = None
    throughput_plan: Mapping[str, Any] | None = None
    judgement: Judgement | None = None
    checked: Mapping[str, Any] | None = None
    narrow_plan: Mapping[str, Any] | None = None
    stacks: Stacks | None = None

    def read(self) -> StoredPlan:
        """The plan with all that is known of it; ``PlacementError`` as ``Plan.from_dict``."""
        beside = self.throughput_plan
        return StoredPlan(
            _bounded(Plan.from_dict(self.plan)),
            self.tuning,
            None if beside is None else ThroughputPlan.from_dict(beside),
            self.judgement,
            self.checked,
            None if self.narrow_plan is None else Plan.from_dict(self.narrow_plan),
            self.stacks,
        )


def document_of(raw: Mapping[str, Any]) -> StoredDocument:
    """What ``read_document`` returned.

    Raises
    ------
    PlacementError
        If it is of another format, or naming the field that is missing or of a wrong type.
    """
    try:
        return read_formatted(StoredDocument, raw, (FORMAT,), "plan")
    except ValueError as error:
        raise PlacementError(str(error)) from error


def _bounded(plan: Plan) -> Plan:
    """The plan, without its bound if that is of other times than its prediction.

    So were those that were stored before bounds followed what was measured in place.
    """
    holds = 0 <= plan.bound_ns <= plan.predicted.makespan_ns
    return plan if holds else replace(plan, bound_ns=0)


class DamagedError(PlacementError):
    """The file is not what was written."""


def read_document(path: Path) -> dict[str, Any]:
    """What the file of a plan holds.

    Raises
    ------
    DamagedError
        If it is not what was written.
    PlacementError
        If that was no plan.
    OSError
        If it cannot be read.
    """
    digest, _, text = read_private(path).decode().partition("\n")
    if hashlib.sha256(text.encode()).hexdigest() != digest:
        raise DamagedError("plan: damaged")
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PlacementError(f"plan: malformed: {error}") from error
    if not isinstance(raw, dict):
        raise PlacementError("plan: malformed: not an object")
    return raw


def _check(plan: Plan, graph: Graph) -> None:
    """Each task once, on a device that there is: what the core would not look at."""
    if any(segment.shards != plan.shards for segment in plan.segments):
        raise PlacementError("plan: segments of different graphs")
    try:
        graph = planned_graph(graph, plan)
    except ValueError as error:
        raise PlacementError(f"plan: {error}") from error
    tasks = sorted(task for segment in plan.segments for task in segment.tasks)
    if plan.source_hash != graph.source_hash or tasks != list(range(graph.summary.task_count)):
        raise PlacementError("plan: not every task of the model is in exactly one segment")
    if plan.shards > 1 and not all(_fits(segment, graph) for segment in plan.segments):
        raise PlacementError("plan: the batch is split in another way now")
    if any(not 0 <= s.device < len(plan.devices) or s.width < 1 for s in plan.segments):
        raise PlacementError("plan: a segment's device or width is out of range")


def _fits(segment: Segment, graph: Graph) -> bool:
    """Whether the segment's tensors are those of its tasks."""
    from surplus.engine.dfg.extract import (  # the split graph is parsed
        boundary_inputs,
        boundary_outputs,
    )

    joined = {join.name for join in segment.joins}
    known = {*boundary_inputs(graph, segment.tasks), *boundary_outputs(graph, segment.tasks)}
    return known.union(joined).issuperset((*segment.inputs, *segment.outputs))


def _elsewhere(path: Path, graph: Graph) -> list[Path]:
    """Plans for the same question from other machines, and from other versions' folders."""
    folders = [path.parent, *path.parent.parent.glob(f"{graph.source_hash}-ort*")]
    pattern = f"{path.stem.rpartition('-')[0]}-*.json"
    return sorted({found for folder in folders for found in folder.glob(pattern)})


def _digest(value: Any) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()
