"""The basic-optimised model with what ONNX Runtime reads of each node: its name and its device."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import onnx
from onnx.external_data_helper import load_external_data_for_model

from surplus.engine.dfg.graph import Graph

MODEL_FILE = "annotated.onnx"
WEIGHTS_FILE = "annotated.bin"

_ANNOTATION = "layer_ann"
"""Key of a node's ``metadata_props`` that ``session.layer_assignment_settings`` looks at."""

_INLINE_BELOW_BYTES = 1024


def write_annotated(graph: Graph, device_of: Mapping[str, str], folder: Path) -> tuple[Path, ...]:
    """Write model and weights; each node is called as its task.

    Parameters
    ----------
    device_of : mapping
        Task name -> device in ONNX Runtime's words.

    Returns
    -------
    tuple of Path
        The files, the model first.
    """
    model = onnx.ModelProto()
    model.CopyFrom(graph.model)
    load_external_data_for_model(model, str(graph.folder))
    names = {output: task.name for task in graph.tasks for output in task.node.output if output}
    for node in model.graph.node:
        node.name = next(names[output] for output in node.output if output in names)
        del node.metadata_props[:]
        node.metadata_props.add(key=_ANNOTATION, value=device_of[node.name])
    (folder / WEIGHTS_FILE).unlink(missing_ok=True)  # onnx would add to it
    onnx.save_model(
        model,
        folder / MODEL_FILE,
        save_as_external_data=True,
        location=WEIGHTS_FILE,
        size_threshold=_INLINE_BELOW_BYTES,
    )
    written = (folder / MODEL_FILE, folder / WEIGHTS_FILE)
    return tuple(path for path in written if path.exists())
