"""A model's memory: what its plan needs and holds, beside a plain ONNX Runtime session."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from surplus.engine.dfg.graph import Graph
from surplus.engine.pipeline.activations import planned_activations
from surplus.engine.pipeline.loading import load_with
from surplus.engine.pipeline.memory_probe import MemoryProbeParams, probe_apart
from surplus.engine.planning.kernel_memory import kernel_bytes
from surplus.engine.planning.load_params import LoadParams

_QUERIES = 10


def memory_report(
    path: Path, params: LoadParams, inputs: Mapping[str, Any], queries: int = _QUERIES
) -> dict[str, Any]:
    """Load once to make and keep the plan, then measure it and a plain session, each apart.

    Returns
    -------
    dict
        ``plan`` (what it is), ``weights`` (where they are), ``activations`` (predicted),
        ``planned`` and ``plain`` (measured, bytes above each process's base), ``ratio``
        (of these, a page that is mapped twice counted once).

    Raises
    ------
    EngineError
        If the model cannot be loaded or run.
    """
    model = load_with(path, params, inputs)
    graph, plan = model.graph, model.plan
    del model
    width = max((segment.width for segment in plan.segments), default=1)
    planned = probe_apart(MemoryProbeParams(path, dict(inputs), queries, load=params))
    plain = probe_apart(MemoryProbeParams(path, dict(inputs), queries, threads=width))
    return {
        "model": graph.name,
        "plan": {"name": plan.name, "segments": len(plan.segments), "widest": width},
        "weights": _weights(graph) | planned.pop("weights") | {"kernels_bytes": kernel_bytes(plan)},
        "activations": planned_activations(graph, plan, inputs)._asdict(),
        "planned": planned,
        "plain": {key: plain[key] for key in ("base", "loaded", "steady", "threads")},
        "ratio": {
            "peak": _ratio(planned, plain, "peak_bytes"),
            "resident": _ratio(planned, plain, "resident_bytes"),
        },
    }


def _weights(graph: Graph) -> dict[str, int]:
    """Bytes of the model's constants, and of those that ONNX Runtime keeps in another form."""
    rewritten = [file.stat().st_size for file in graph.folder.glob("weight-*.bin")]
    return {
        "original_bytes": sum(f.stat().st_size for f in graph.folder.glob("weights.bin")),
        "rewritten_files": len(rewritten),
        "rewritten_bytes": sum(rewritten),
    }


def _ratio(planned: Mapping[str, Any], plain: Mapping[str, Any], field: str) -> float:
    held, beside = (
        side["steady"][field] - side["steady"]["counted_twice_bytes"] for side in (planned, plain)
    )
    return float(held / max(1, beside))
