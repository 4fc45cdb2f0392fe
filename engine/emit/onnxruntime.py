"""A placement for ONNX Runtime: session options that say which node runs on which provider.

``session_options.json`` has everything that a session needs (docs/FORMATS.md). Where nodes' names
tell them apart, it belongs to the user's own model; else to an annotated copy beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from surplus.engine.atomic_file import write_atomic
from surplus.engine.dfg.captures import all_nodes
from surplus.engine.emit.annotated_model import write_annotated
from surplus.engine.emit.emitted import Emitted, Placed
from surplus.engine.emit.known_options import (
    ANNOTATION_RULES,
    NAME_RULES,
    STREAMS_FILE,
    knows_option,
)
from surplus.engine.emit.name_rules import Row, name_rules
from surplus.engine.emit.streams import streams_json, why_no_streams
from surplus.engine.errors import PlacementError, one_line
from surplus.engine.native import load_runtime, open_session
from surplus.placement.memory import capacities, memory_use

FORMAT = "surplus-onnxruntime/1"
OPTIONS_FILE = "session_options.json"
STREAMS_NAME = "streams.json"

_PROVIDERS = {
    "cpu": ("cpu", "CPUExecutionProvider"),
    "cuda": ("cuda", "CUDAExecutionProvider"),
    "emulated": ("gpu", "CUDAExecutionProvider"),
    "plugin": ("accelerator", ""),
}
"""By kind of device: ONNX Runtime's word for it, and the provider; a plugin names its own."""


def emit_onnxruntime(placed: Placed, folder: Path) -> Emitted:
    """Write the options, and what they refer to.

    Raises
    ------
    PlacementError
        If the plan has several devices beside the CPU, or the installed version cannot be told.
    """
    words = _words(placed)
    task_words = {
        task.name: words[placed.problem.devices[device].name]
        for task, device in zip(placed.graph.tasks, placed.placement.device_of, strict=True)
    }
    entries, files, remarks = _assignment(placed, task_words, folder)
    without = why_no_streams(placed)
    if without or not knows_option(STREAMS_FILE):
        remarks.append(without or "the installed ONNX Runtime takes no file of streams")
    else:
        files = files or list(write_annotated(placed.graph, task_words, folder))
        files.append(folder / STREAMS_NAME)
        write_atomic(files[-1], streams_json(placed).encode())
        entries[STREAMS_FILE] = str(files[-1].resolve())
        remarks.append("streams name nodes as they are now, so nothing optimises the graph further")
    model = files[0] if files else placed.model_path
    remarks += _standing_remarks(placed)
    remarks.append(_tried(model, entries, placed))
    document = {**_how_to_open(model, entries, placed), **_promise(placed), "remarks": remarks}
    options = folder / OPTIONS_FILE
    write_atomic(options, json.dumps(document, indent=1).encode() + b"\n")
    return Emitted((options, *files), tuple(remarks))


def _words(placed: Placed) -> dict[str, str]:
    """Each used device in ONNX Runtime's words."""
    host = placed.problem.devices[0].name
    away = [name for name in placed.used if name != host]
    if len(away) > 1:
        raise PlacementError(
            f"ONNX Runtime has one provider of a kind in a session, this plan runs on"
            f" {', '.join(away)}: profile one of them"
        )
    return {name: _PROVIDERS[_kind(name)][0] for name in placed.used}


def _kind(device: str) -> str:
    return device.partition(":")[0]


def _assignment(
    placed: Placed, task_words: dict[str, str], folder: Path
) -> tuple[dict[str, str], list[Path], list[str]]:
    """Options by which nodes get their devices, files for them, and remarks."""
    if len(placed.used) < 2:
        return {}, [], ["all nodes run on one device, so no option assigns them"]
    rules = name_rules(list(_named_nodes(placed, task_words)))
    if rules is not None and knows_option(NAME_RULES):
        return {NAME_RULES: rules}, [], []
    if not knows_option(ANNOTATION_RULES):
        raise PlacementError(
            f"ONNX Runtime {load_runtime()} has no option that assigns nodes to devices, newer"
            " versions have"
        )
    files = list(write_annotated(placed.graph, task_words, folder))
    value = ";".join(f"{word}(={word})" for word in dict.fromkeys(task_words.values()))
    why = "the names of its nodes do not tell them apart within the length of an option"
    if rules is not None:
        why = f"{NAME_RULES} is not known to the installed ONNX Runtime"
    return {ANNOTATION_RULES: value}, files, [f"the model is an annotated copy: {why}"]


def _named_nodes(placed: Placed, task_words: dict[str, str]) -> Iterator[Row]:
    """All nodes with their tasks' devices, those of branches and loops included."""
    for task in placed.graph.tasks:
        for node in all_nodes([task.node]):
            yield node.name, task_words[task.name]


def _how_to_open(model: Path, entries: dict[str, str], placed: Placed) -> dict[str, Any]:
    streams = STREAMS_FILE in entries
    away = [_PROVIDERS[_kind(name)][1] for name in placed.used if _kind(name) != "cpu"]
    found: dict[str, Any] = {
        "format": FORMAT,
        "runtime_version": load_runtime(),
        "model": str(model.resolve()),
        "providers": [*filter(None, away), _PROVIDERS["cpu"][1]],
        "entries": entries,
        "execution_mode": "ORT_PARALLEL" if streams else "ORT_SEQUENTIAL",
        "graph_optimization_level": "ORT_DISABLE_ALL" if streams else "ORT_ENABLE_ALL",
    }
    if streams:
        found["inter_op_num_threads"] = placed.problem.devices[0].lanes
    return found


def _promise(placed: Placed) -> dict[str, Any]:
    """What is predicted and proven of the plan, and what it takes of each memory."""
    limits = capacities(placed.problem)
    uses = memory_use(placed.problem, placed.placement, placed.timeline)
    return {
        "policy": placed.placement.policy,
        "makespan_ns": placed.timeline.makespan_ns,
        "bound_ns": placed.bound_ns,
        "gap": placed.gap,
        "memory": {
            space: {"peak_bytes": use.peak_bytes, "limit_bytes": limits.get(space)}
            for space, use in uses.items()
        },
    }


def _standing_remarks(placed: Placed) -> list[str]:
    remarks = [
        "makespan, bound and gap are of Surplus's runtime, in which devices work at the same time"
        " and tasks start in the plan's order; ONNX Runtime orders nodes itself, and its streams"
        " run one after another"
    ]
    if len(placed.used) > 1:
        remarks.append(
            "ONNX Runtime takes the assignment as a preference: what the provider has no kernel for"
            " runs on the CPU"
        )
    for name in placed.used:
        if _kind(name) == "emulated":
            remarks.append(f"{name} stands for a GPU, by CUDA's provider unless another is named")
        if _kind(name) == "plugin":
            remarks.append(f"the provider of {name} must be registered with the session")
    return remarks


def _tried(model: Path, entries: dict[str, str], placed: Placed) -> str:
    """What came of opening the model with these entries by the installed library.

    Raises
    ------
    PlacementError
        If ONNX Runtime refuses them.
    """
    level = "disable_all" if STREAMS_FILE in entries else "all"
    try:
        open_session(str(model), level=level, config=entries)
    except RuntimeError as error:
        raise PlacementError(f"ONNX Runtime refuses what was written: {one_line(error)}") from error
    if len(placed.used) < 2:
        return "ONNX Runtime opened the model with these entries"
    return (
        "ONNX Runtime opened the model with these entries by its CPU's provider alone: rules for"
        " other devices were read, but where their nodes run was not seen"
    )
