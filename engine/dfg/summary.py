"""The summary of a graph: what loading a stored plan needs to know, kept beside the model.

With it a model is loaded and answers without its graph in memory (engine/dfg/graph.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from surplus.engine.dfg.activation_size import Activations
    from surplus.engine.dfg.graph_tensor import GraphTensor
    from surplus.engine.dfg.zip_map import ZipMap


class Summary(NamedTuple):
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
