"""The file of a graph's summary, kept beside the model."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from surplus.engine.cache.notes import read_note, write_note
from surplus.engine.dfg.activation_size import Activations
from surplus.engine.dfg.graph_tensor import GraphTensor, ValueKind
from surplus.engine.dfg.summary import Summary
from surplus.engine.dfg.zip_map import ZipMap

SUMMARY_FILE = "summary.json"

_FORMAT = "surplus-graph-summary/3"


def read_summary(model: Path) -> Summary | None:
    """The summary beside a model; None where there is none, or one of another file."""
    try:
        raw = read_note(model.with_name(SUMMARY_FILE))
        if raw["format"] != _FORMAT or raw["model"] != _state(model):
            return None
        return _summary(raw["summary"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def write_summary(model: Path, summary: Summary) -> None:
    """Keep the summary beside the model that it is of.

    Raises
    ------
    OSError
        If the folder cannot be written.
    """
    document = {"format": _FORMAT, "model": _state(model), "summary": _plain(summary)}
    write_note(model.with_name(SUMMARY_FILE), document)


def _state(model: Path) -> list[int]:
    """What changes when the file does: a damaged model is noticed without parsing it."""
    stat = model.stat()
    return [stat.st_size, stat.st_mtime_ns]


def _plain(summary: Summary) -> dict[str, Any]:
    return {
        **summary._asdict(),
        "inputs": [tensor._asdict() for tensor in summary.inputs],
        "outputs": [tensor._asdict() for tensor in summary.outputs],
        "activations": summary.activations._asdict(),
        "zip_maps": [asdict(zip_map) for zip_map in summary.zip_maps],
    }


def _summary(raw: dict[str, Any]) -> Summary:
    return Summary(
        digest=str(raw["digest"]),
        task_count=int(raw["task_count"]),
        inputs=tuple(map(_tensor, raw["inputs"])),
        outputs=tuple(map(_tensor, raw["outputs"])),
        default_inputs=tuple(raw["default_inputs"]),
        constant_outputs=tuple(raw["constant_outputs"]),
        activations=Activations(**raw["activations"]),
        zip_maps=tuple(map(ZipMap.from_dict, raw["zip_maps"])),
        has_open_work=bool(raw["has_open_work"]),
    )


def _tensor(raw: dict[str, Any]) -> GraphTensor:
    shape = raw["shape"]
    return GraphTensor(
        **{
            **raw,
            "consumers": tuple(raw["consumers"]),
            "shape": None if shape is None else tuple(shape),
            "kind": ValueKind(raw["kind"]),
        }
    )
