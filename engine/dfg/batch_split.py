"""A model that computes the rows of its batch in shards, each by tasks of its own.

The graph is written anew: for each shard a Slice of what carries the batch into it and a copy of
every task that can be run for some rows alone, then a Concat of each tensor that the model
delivers or that tasks for the whole batch read. Shards read the same weights. Where the batch is
open (its size comes with the query) nothing is split.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import cast

import numpy as np
import onnx
from onnx import helper, numpy_helper

from surplus.engine.dfg.batch_axis import BatchAxes, batch_axes
from surplus.engine.dfg.batch_question import Rows
from surplus.engine.dfg.build import build
from surplus.engine.dfg.constants import array_of
from surplus.engine.dfg.graph import Graph

_SHAPED_BY_INPUT = frozenset({"Expand", "Reshape"})
"""Operators whose second input says how large the result is."""

_FILLED = frozenset({"ScatterElements"})
"""Operators whose first input is what their result holds where nothing else is put."""


@dataclass(frozen=True)
class SplitGraph:
    """A graph with its batch split.

    Parameters
    ----------
    graph : Graph
        The same inputs, outputs and weights; other tasks.
    sizes : tuple of int
        Rows of each shard.
    origin : tuple of (int or None)
        By task: that of the whole graph which it is, or is a shard of; None for a Slice or Concat.
    shard : tuple of (int or None)
        By task: the shard that it belongs to; None for what is run once.
    begins : tuple of int
        Tasks that are run once and do not depend on the batch.
    part_of : mapping of str to str
        Tensor of the whole graph that each tensor of a shard is a part of, by name.
    """

    graph: Graph
    sizes: tuple[int, ...]
    origin: tuple[int | None, ...]
    shard: tuple[int | None, ...]
    begins: tuple[int, ...]
    part_of: Mapping[str, str]


def shard_sizes(batch: int, shards: int) -> tuple[int, ...]:
    """Rows of each shard; the first ones have one more where the batch does not divide evenly."""
    return tuple(batch // shards + (i < batch % shards) for i in range(shards))


def split_batch(graph: Graph, shards: int) -> SplitGraph | None:
    """The graph with its batch in so many shards; the same call gives the same tasks.

    Returns
    -------
    SplitGraph or None
        None where nothing can be split, or the batch has fewer rows.

    Raises
    ------
    ValueError
        If ``shards`` is below 2.
    """
    if shards < 2:
        raise ValueError(f"shards must be >= 2, got {shards}")
    if shards not in graph.splits:
        graph.splits[shards] = _split(graph, shards)
    return cast(SplitGraph | None, graph.splits[shards])


def _split(graph: Graph, shards: int) -> SplitGraph | None:
    axes = batch_axes(graph)
    if axes is None or axes.batch < shards:
        return None
    return _Splitter(graph, axes, shard_sizes(axes.batch, shards)).split()


@dataclass(frozen=True)
class _Origin:
    task: int | None
    shard: int | None


class _Splitter:
    """Writes one graph anew."""

    def __init__(self, graph: Graph, axes: BatchAxes, sizes: Sequence[int]) -> None:
        self._graph = graph
        self._axes = axes
        self._sizes = tuple(sizes)
        self._starts = [0, *accumulate(sizes)]
        self._taken = {*graph.tensor_index, *graph.initializers, *graph.sparse_initializers}
        self._model = onnx.ModelProto()
        self._origins: dict[str, _Origin] = {}
        self._parts = self._name_parts()

    def split(self) -> SplitGraph:
        """The graph of all tasks, in the order that any graph has."""
        self._model.CopyFrom(self._graph.model)
        self._drop_stale()
        for task in self._axes.shared:
            self._add(self._graph.tasks[task].node, _Origin(task, None))
        for shard in range(len(self._sizes)):
            self._add_shard(shard)
        for index in self._joined():
            self._add_join(index)
        for task in self._axes.after:
            self._add(self._graph.tasks[task].node, _Origin(task, None))
        old = self._graph
        graph = build(old.name, self._model, old.model_path, old.source_hash)
        origins = [self._origins[_key(task.node)] for task in graph.tasks]
        shared = set(self._axes.shared)
        return SplitGraph(
            graph=graph,
            sizes=self._sizes,
            origin=tuple(origin.task for origin in origins),
            shard=tuple(origin.shard for origin in origins),
            begins=tuple(i for i, origin in enumerate(origins) if origin.task in shared),
            part_of={name: old.tensors[index].name for (index, _), name in self._parts.items()},
        )

    def _name_parts(self) -> dict[tuple[int, int], str]:
        """Name of each shard of each tensor that carries the batch."""
        count = len(self._sizes)
        return {
            (index, shard): self._fresh(f"{self._graph.tensors[index].name}[{shard + 1}/{count}]")
            for index in self._axes.rows
            for shard in range(count)
        }

    def _fresh(self, name: str) -> str:
        while name in self._taken:
            name += "'"
        self._taken.add(name)
        return name

    def _drop_stale(self) -> None:
        """Forget all nodes, and the types of what no longer is made."""
        graph = self._model.graph
        del graph.node[:]
        kept = {self._graph.tensors[index].name for index in self._joined()}
        gone = {self._graph.tensors[index].name for index in self._axes.rows} - kept
        values = [value for value in graph.value_info if value.name not in gone]
        del graph.value_info[:]
        graph.value_info.extend(values)

    def _joined(self) -> list[int]:
        """Tensors that are made by row and needed whole."""
        by_row = set(self._axes.by_row)
        tensors = self._graph.tensors
        return [
            index
            for index in self._axes.rows
            if tensors[index].producer >= 0
            and (tensors[index].is_output or not by_row.issuperset(tensors[index].consumers))
        ]

    def _add(self, node: onnx.NodeProto, origin: _Origin) -> None:
        self._model.graph.node.append(node)
        self._origins[_key(node)] = origin

    def _add_shard(self, shard: int) -> None:
        by_row = set(self._axes.by_row)
        for index in self._axes.rows:
            tensor = self._graph.tensors[index]
            if tensor.producer < 0 and not by_row.isdisjoint(tensor.consumers):
                self._add(self._slice(index, shard), _Origin(None, shard))
            self._declare(index, shard)
        for task in self._axes.by_row:
            self._add(self._copied(task, shard), _Origin(task, shard))

    def _declare(self, index: int, shard: int) -> None:
        tensor, rows = self._graph.tensors[index], self._axes.rows[index]
        assert tensor.shape is not None, "rules want sizes"
        shape = list(tensor.shape)
        shape[rows.axis] = self._sizes[shard] * rows.per_row
        value = helper.make_tensor_value_info(self._parts[index, shard], tensor.elem_type, shape)
        self._model.graph.value_info.append(value)

    def _slice(self, index: int, shard: int) -> onnx.NodeProto:
        rows = self._axes.rows[index]
        name = self._parts[index, shard]
        first, last = self._starts[shard], self._starts[shard + 1]
        bounds = [
            self._constant(f"{name} {what}", [number])
            for what, number in (
                ("from", first * rows.per_row),
                ("to", last * rows.per_row),
                ("axis", rows.axis),
            )
        ]
        source = self._graph.tensors[index].name
        return helper.make_node("Slice", [source, *bounds], [name], name=name)

    def _constant(self, name: str, numbers: Sequence[int]) -> str:
        fresh = self._fresh(name)
        array = np.asarray(numbers, np.int64)
        self._model.graph.initializer.append(numpy_helper.from_array(array, fresh))
        return fresh

    def _copied(self, index: int, shard: int) -> onnx.NodeProto:
        """A task's node for one shard's rows."""
        task = self._graph.tasks[index]
        node = onnx.NodeProto()
        node.CopyFrom(task.node)
        node.name = f"{task.name}[{shard + 1}/{len(self._sizes)}]"
        node.input[:] = [self._part_of(name, shard) for name in task.node.input]
        node.output[:] = [self._part_of(name, shard) for name in task.node.output]
        if task.op_type in _SHAPED_BY_INPUT:
            node.input[1] = self._constant(
                f"{node.name} shape", self._shape(task.outputs[0], shard)
            )
        if task.op_type in _FILLED and node.input[0] in self._graph.initializers:
            node.input[0] = self._cut_constant(node.input[0], task.outputs[0], shard)
        return node

    def _cut_constant(self, name: str, output: int, shard: int) -> str:
        """A shard's rows of a constant that lies as an output does."""
        rows = self._axes.rows[output]
        bounds = [self._starts[shard + i] * rows.per_row for i in (0, 1)]
        whole = array_of(self._graph.initializers[name], self._graph.folder)
        cut = np.moveaxis(np.moveaxis(whole, rows.axis, 0)[slice(*bounds)], 0, rows.axis)
        fresh = self._fresh(f"{name}[{shard + 1}/{len(self._sizes)}]")
        tensor = numpy_helper.from_array(np.ascontiguousarray(cut), fresh)
        self._model.graph.initializer.append(tensor)
        return fresh

    def _part_of(self, name: str, shard: int) -> str:
        index = self._graph.tensor_index.get(name, -1)
        return self._parts.get((index, shard), name)

    def _shape(self, index: int, shard: int) -> list[int]:
        shape, rows = self._graph.tensors[index].shape, self._axes.rows[index]
        sizes = [size for size in shape or () if isinstance(size, int)]
        sizes[rows.axis] = self._sizes[shard] * rows.per_row
        return sizes

    def _add_join(self, index: int) -> None:
        rows: Rows = self._axes.rows[index]
        name = self._graph.tensors[index].name
        parts = [self._parts[index, shard] for shard in range(len(self._sizes))]
        node = helper.make_node("Concat", parts, [name], name=f"join {name}", axis=rows.axis)
        self._add(node, _Origin(None, None))


def _key(node: onnx.NodeProto) -> str:
    """The first value that a node makes: no other one makes it."""
    return str(next(name for name in node.output if name))
