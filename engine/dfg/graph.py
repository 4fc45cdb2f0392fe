"""The data-flow graph (DFG) of an ONNX model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from surplus.engine.dfg.graph_tensor import Dim as Dim
from surplus.engine.dfg.graph_tensor import GraphTensor as GraphTensor
from surplus.engine.dfg.graph_tensor import ValueKind as ValueKind
from surplus.engine.dfg.stored_files import GIVEN_FILE

if TYPE_CHECKING:
    import onnx

    from surplus.engine.dfg.content import Content, GraphTask
    from surplus.engine.dfg.summary import Summary


class Graph:
    """A model as tasks in topological order and tensors; immutable.

    What grows with the number of tasks is read when it is first looked at. A loaded model only
    needs the ``summary``: hundreds of tiny operators take more memory in Python than in ONNX
    Runtime.

    Parameters
    ----------
    name : str
        File stem of the model.
    model_path : Path
        The basic-optimised model as a file. Inputs with a default must be fed here, too.
    source_hash : str
        SHA-256 of the user's model including external data: the key of everything cached. Empty
        as long as it has not been read (engine/runtime/unread.py).
    read : callable
        Returns the content, each time the same.
    content : Content, optional
        What ``read`` would return, where it is at hand.
    summary : Summary, optional
        Of that content, where it is known without it.
    """

    def __init__(
        self,
        name: str,
        model_path: Path,
        source_hash: str,
        read: Callable[[], Content],
        *,
        content: Content | None = None,
        summary: Summary | None = None,
    ) -> None:
        self.name = name
        self.model_path = model_path
        self.source_hash = source_hash
        self._read = read
        self._content = content
        self._summary = summary

    def unread(self) -> Graph:
        """The same graph, as if nobody had looked at its content."""
        place = (self.name, self.model_path, self.source_hash)
        return Graph(*place, self._read, summary=self.summary)

    @property
    def is_stored(self) -> bool:
        """Whether its files lie in the cache; nothing is put beside those of a user."""
        return bool(self.source_hash)

    @property
    def folder(self) -> Path:
        """Where the model and its weights lie; memory-mapped by every session."""
        return self.model_path.parent

    @property
    def whole_path(self) -> Path:
        """What the whole model in one session runs from, with the bits of the user's file."""
        given = self.folder / GIVEN_FILE
        return given if self.is_stored and given.exists() else self.model_path

    @cached_property
    def summary(self) -> Summary:
        """What loading a stored plan needs to know."""
        if self._summary is not None:
            return self._summary
        from surplus.engine.dfg.summarise import summary_of  # a stored plan has its summary

        return summary_of(self.content)

    @property
    def content(self) -> Content:
        """All of it; takes 4 KiB and some 40 µs a task where nobody has looked before.

        Raises
        ------
        ModelError
            If the file is gone or damaged by now.
        """
        if self._content is None:
            self._content = self._read()
        return self._content

    @cached_property
    def tasks(self) -> tuple[GraphTask, ...]:
        """By index."""
        return self.content.tasks

    @cached_property
    def tensors(self) -> tuple[GraphTensor, ...]:
        """By index."""
        return self.content.tensors

    @cached_property
    def inputs(self) -> tuple[int, ...]:
        """Tensor indices in the model's order, those of inputs with a default included."""
        return self.content.inputs

    @cached_property
    def outputs(self) -> tuple[int, ...]:
        """Tensor indices in the model's order."""
        return self.content.outputs

    @cached_property
    def model(self) -> onnx.ModelProto:
        """The basic-optimised model, without the weights that are external data."""
        return self.content.model

    @property
    def default_inputs(self) -> tuple[str, ...]:
        """Inputs that have a default: an initializer of the same name."""
        return self.summary.default_inputs

    @property
    def constant_outputs(self) -> tuple[str, ...]:
        """Outputs that are initializers."""
        return self.summary.constant_outputs

    @cached_property
    def tensor_index(self) -> dict[str, int]:
        """Tensor name -> index."""
        return {tensor.name: index for index, tensor in enumerate(self.tensors)}

    @cached_property
    def value_types(self) -> dict[str, onnx.TypeProto]:
        """Value name -> type as the model states it, inputs and outputs included."""
        graph = self.model.graph
        return {v.name: v.type for v in (*graph.value_info, *graph.output, *graph.input)}

    @cached_property
    def initializers(self) -> dict[str, onnx.TensorProto]:
        """Constants by name, defaults of inputs included; data may be external to the model."""
        return {tensor.name: tensor for tensor in self.model.graph.initializer}

    @cached_property
    def sparse_initializers(self) -> dict[str, onnx.SparseTensorProto]:
        """Sparse constants by name."""
        return {tensor.values.name: tensor for tensor in self.model.graph.sparse_initializer}

    @cached_property
    def splits(self) -> dict[int, object]:
        """What batch_split.py has found for each number of shards, so that it looks once."""
        return {}

    @cached_property
    def doubtful_ranks(self) -> frozenset[int]:
        """Tensors that may have another rank than is stated, where a query is empty."""
        from surplus.engine.dfg.empty_reductions import doubtful_ranks

        return doubtful_ranks(self)

    @cached_property
    def reduced_ones(self) -> frozenset[int]:
        """Tensors that may be empty and have an extent of 1 that goes back to a reduction."""
        from surplus.engine.dfg.empty_reductions import reduced_ones

        return reduced_ones(self)

    @cached_property
    def value_bounds(self) -> Mapping[str, tuple[float, float]]:
        """Least and largest values of tensors, as far as the operators say."""
        from surplus.engine.dfg.value_bounds import value_bounds

        return value_bounds(self)

    @cached_property
    def predecessors(self) -> tuple[tuple[int, ...], ...]:
        """Distinct tasks that each task waits for, ascending."""
        return tuple(
            tuple(sorted({self.tensors[t].producer for t in task.inputs} - {-1}))
            for task in self.tasks
        )

    @cached_property
    def successors(self) -> tuple[tuple[int, ...], ...]:
        """Distinct tasks that wait for each task, ascending."""
        return tuple(
            tuple(sorted({c for t in task.outputs for c in self.tensors[t].consumers}))
            for task in self.tasks
        )
