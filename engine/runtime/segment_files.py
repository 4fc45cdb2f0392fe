"""The ONNX files of a plan's segments, cut out of the model once."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from surplus.engine.dfg.graph import Graph
    from surplus.engine.segmentation.plan import Segment


def segment_file(graph: Graph, segment: Segment, *, whole: bool) -> Path:
    """The ONNX file of a segment, written once beside the weights that it refers to."""
    # Dead nodes make what the model's own file does not deliver.
    delivered = {tensor.name for tensor in graph.summary.outputs}
    if whole and segment.shards == 1 and delivered.issuperset(segment.outputs):
        # What libraries compile has other bits anyway, and is kept by the name of the file.
        return graph.whole_path if segment.kernels is None else graph.model_path
    from surplus.engine.store.segments import stored  # the whole model is not cut

    return stored(graph, segment_file_name(segment), lambda: _extracted(graph, segment))


def _extracted(graph: Graph, segment: Segment) -> bytes:
    from surplus.engine.dfg.extract import extract  # of a segment that nobody has cut out before

    model = extract(graph, segment.tasks, segment.outputs, segment.joins)
    content: bytes = model.SerializeToString()
    return content


def segment_file_name(segment: Segment) -> str:
    """Name of the file of a segment that is cut out of its graph."""
    content: tuple[object, ...] = (segment.tasks, segment.outputs, segment.joins)
    if segment.shards > 1:
        content = (*content, segment.shards)
    import hashlib  # loads a library

    return f"segment-{hashlib.sha256(repr(content).encode()).hexdigest()[:24]}.onnx"
