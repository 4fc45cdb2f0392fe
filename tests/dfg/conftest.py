"""Tiny ONNX models with the features that a reader trips over."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.dfg.onnx_parts import value, weight

Save = Callable[..., Path]


@pytest.fixture
def save(tmp_path: Path) -> Save:
    """Builds a model from nodes, inputs, outputs and initializers, and writes it."""

    def write(
        nodes, inputs, outputs, constants=(), *, domains=(), opset=17, ir_version=9, **rest
    ) -> Path:
        graph = helper.make_graph(nodes, "test", inputs, outputs, list(constants))
        graph.sparse_initializer.extend(rest.pop("sparse", ()))
        imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)]
        model = helper.make_model(graph, opset_imports=imports, ir_version=ir_version, **rest)
        path = tmp_path / "model.onnx"
        onnx.save(model, path)
        return path

    return write


@pytest.fixture
def rich(save: Save) -> Path:
    """Control flow with captures, a sequence, a contrib operator, a default, odd outputs."""
    then = helper.make_graph(
        [helper.make_node("MatMul", ["c", "inner"], ["t"])],
        "then",
        [],
        [value("t")],
        [weight("inner", 32, 32)],
    )
    other = helper.make_graph(
        [helper.make_node("Add", ["c", "outer"], ["e"])], "else", [], [value("e")]
    )
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["c"], name="one"),
        helper.make_node("If", ["flag"], ["y"], then_branch=then, else_branch=other),
        helper.make_node("Gelu", ["y"], ["z"], domain="com.microsoft"),
        helper.make_node("SequenceConstruct", ["z", "d"], ["s"]),
        helper.make_node("SequenceAt", ["s", "zero"], ["q"]),
    ]
    return save(
        nodes,
        [value("x", ["n", 32]), value("flag", [], TensorProto.BOOL), value("d", [2, 32])],
        [value("q"), value("d", [2, 32]), value("x", ["n", 32]), value("w", [32, 32]), value("c")],
        [
            weight("w", 32, 32),
            weight("d", 2, 32),
            weight("outer", 32),
            numpy_helper.from_array(np.array(0), "zero"),
        ],
        domains=["com.microsoft"],
    )
