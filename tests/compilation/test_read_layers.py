"""Operators become layers, with what follows them; what has no template is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from surplus.engine.compilation.blocks import find_blocks
from surplus.engine.compilation.read_layers import read_layers
from surplus.engine.compilation.steps import steps_of
from surplus.engine.compilation.works import Batched, Convolution, Dense, Rowwise, Turned
from surplus.engine.errors import ConfigError, NotCompiledError
from tests.compilation.small_models import Maker, attention, bottleneck, graph_of


def test_a_bottleneck_is_four_convolutions(tmp_path: Path) -> None:
    """Clips, the sum and the rectifier behind it are part of them."""
    graph = graph_of(bottleneck(tmp_path))
    block = read_layers(graph, 0, len(graph.tasks))
    works = [layer.work for layer in block.layers]
    assert all(isinstance(work, Convolution) for work in works)
    operators = [[row.operator for row in work.program.instructions] for work in works]  # type: ignore[union-attr]
    assert operators == [["Clip"], ["Clip"], [], ["Add", "Relu"]]
    assert [work.depthwise for work in works if isinstance(work, Convolution)] == [0, 1, 0, 0]
    # 24 channels to 40, on 14 x 14: that many multiply-adds.
    assert works[0].operations == 24 * 40 * 14 * 14


def test_a_layer_of_attention_is_read_whole(tmp_path: Path) -> None:
    graph = graph_of(attention(tmp_path))
    block = read_layers(graph, 0, len(graph.tasks))
    assert block.inputs == ("x", "mask")
    kinds = [type(layer.work) for layer in block.layers]
    assert kinds.count(Dense) == 7
    assert kinds.count(Batched) == 2
    assert kinds.count(Turned) == 4
    assert kinds.count(Rowwise) == 3  # a softmax, two normalisations


def test_buffers_are_used_again(tmp_path: Path) -> None:
    """No more at once than are read later, and never what a step reads is what it writes."""
    graph = graph_of(attention(tmp_path))
    made = steps_of(read_layers(graph, 0, len(graph.tasks)))
    assert len(made.buffer_bytes) < len(made.steps)
    for step in made.steps:
        *reads, target = step.operands
        assert target not in reads


@pytest.mark.parametrize("count", [1, 2, 3])
def test_blocks_are_as_many_as_asked_for(tmp_path: Path, count: int) -> None:
    graph = graph_of(attention(tmp_path))
    blocks = find_blocks(graph, count)
    assert len(blocks) == count
    assert [block.first for block in blocks[1:]] == [block.end for block in blocks[:-1]]
    assert all(len(block.outputs) == 1 for block in blocks)


def strange(kind: str) -> Callable[[Maker], str]:
    def make(m: Maker) -> str:
        if kind == "groups":
            return m.op("Conv", "x", m.weight(24, 12, 1, 1), group=2)
        if kind == "dilated":
            return m.op("Conv", "x", m.weight(24, 24, 3, 3), dilations=[2, 2])
        if kind == "computed":
            return m.op("Conv", "x", "w")
        if kind == "mixed":
            return m.op("Reshape", "x", m.constant(np.array([-1, 24, 7, 7], np.int64)))
        return m.op("Sin", "x")

    return make


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("groups", "it has 2 groups"),
        ("dilated", "it is dilated"),
        ("computed", "its weights are computed"),
        ("mixed", "it mixes the items"),
        ("sine", "there is no template"),
    ],
)
def test_what_has_no_template_is_refused(tmp_path: Path, kind: str, message: str) -> None:
    m = Maker()
    output = strange(kind)(m)
    inputs = {"x": ["n", 24, 14, 14], "w": [24, 24, 1, 1]}
    graph = graph_of(m.save(tmp_path / "strange.onnx", inputs, (output, 4)))
    with pytest.raises(NotCompiledError, match=message):
        read_layers(graph, 0, 1)
    with pytest.raises(ConfigError, match="has nothing that is compiled"):
        find_blocks(graph, 1)
