"""What loading a stored plan needs to know of a graph, kept beside the model.

With it a model is loaded and answers without its graph in memory (engine/dfg/graph.py).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from surplus.engine.cache.notes import read_note, write_note
from surplus.engine.dfg.activation_size import Activations
from surplus.engine.dfg.content import GraphTensor, ValueKind
from surplus.engine.dfg.zip_map import ZipMap

SUMMARY_FILE = "summary.json"

_FORMAT = "surplus-graph-summary/3"


@dataclass(frozen=True)
class Summary:
    """What does not grow with the number of tasks.

    Parameters
    ----------
    digest : str
        SHA-256 of tasks and tensors by index: plans name tasks by index.
    task_count : int
        How many tasks there are.
    inputs, outputs : tuple of GraphTensor
        In the model's order.
    default_inputs, constant_outputs : tuple of str
        As ``Content`` has them.
    zip_maps : tuple of ZipMap
        Outputs that are made dicts of.
    activations : Activations
        When the tasks run by index.
    has_open_work : bool
        Whether values of a query may decide how long it runs (open_work.py).
    """

    digest: str
    task_count: int
    inputs: tuple[GraphTensor, ...]
    outputs: tuple[GraphTensor, ...]
    default_inputs: tuple[str, ...]
    constant_outputs: tuple[str, ...]
    activations: Activations
    zip_maps: tuple[ZipMap, ...] = ()
    has_open_work: bool = True


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
    document = {"format": _FORMAT, "model": _state(model), "summary": asdict(summary)}
    write_note(model.with_name(SUMMARY_FILE), document)


def _state(model: Path) -> list[int]:
    """What changes when the file does: a damaged model is noticed without parsing it."""
    stat = model.stat()
    return [stat.st_size, stat.st_mtime_ns]


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
