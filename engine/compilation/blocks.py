"""Which stretches of a graph are compiled: what there are templates for, cut into blocks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, pairwise

from surplus.engine.compilation.layer import BlockLayers
from surplus.engine.compilation.read_layers import ANCHORS, read_layers, readable_end
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import ConfigError


def find_blocks(graph: Graph, count: int) -> tuple[BlockLayers, ...]:
    """About so many blocks of about equally many multiply-adds.

    A block begins with a convolution or a product, and ends where one of its tensors is all that
    the next one reads of it.

    Raises
    ------
    ConfigError
        If there is no operator that a block could begin with.
    """
    stretches = list(_stretches(graph))
    if not stretches:
        raise ConfigError(f"model {graph.name!r} has nothing that is compiled")
    total = sum(map(operations_of, stretches))
    found: list[BlockLayers] = []
    for stretch in stretches:
        own = max(1, round(count * operations_of(stretch) / total))
        found += _cut(graph, stretch, own)
    return tuple(found)


def operations_of(block: BlockLayers) -> int:
    """Multiply-adds of a block, about."""
    return sum(layer.work.operations for layer in block.layers)


def _stretches(graph: Graph) -> Iterator[BlockLayers]:
    """The longest that can be read, each begun at an anchor."""
    task, count = 0, len(graph.tasks)
    while task < count:
        if graph.tasks[task].node.op_type not in ANCHORS:
            task += 1
            continue
        end = readable_end(graph, task)
        if end > task:
            yield read_layers(graph, task, end)
        task = max(end, task + 1)


def _cut(graph: Graph, stretch: BlockLayers, count: int) -> list[BlockLayers]:
    """A stretch in so many blocks, or fewer where it cannot be cut that often."""
    names = [layer.makes.name for layer in stretch.layers]
    producer = {name: graph.tensors[graph.tensor_index[name]].producer for name in names}
    done = list(accumulate(layer.work.operations for layer in stretch.layers))
    places = [
        (operations, producer[name] + 1)
        for operations, name in zip(done, names, strict=True)
        if _is_narrow(graph, stretch, producer[name] + 1)
    ]
    ends = {stretch.end}
    for part in range(1, count):
        if places:
            wanted = done[-1] * part // count
            ends.add(min(places, key=lambda place: abs(place[0] - wanted))[1])
    bounds = sorted({stretch.first, *ends})
    return [read_layers(graph, a, b) for a, b in pairwise(bounds)]


def _is_narrow(graph: Graph, stretch: BlockLayers, place: int) -> bool:
    """Whether one tensor of the stretch crosses a place within it, and an anchor follows."""
    if not stretch.first < place < stretch.end:
        return False
    if graph.tasks[place].node.op_type not in ANCHORS:
        return False
    made = {t for task in range(stretch.first, place) for t in graph.tasks[task].outputs}
    crossing = [t for t in made if max(graph.tensors[t].consumers, default=-1) >= place]
    return len(crossing) == 1
