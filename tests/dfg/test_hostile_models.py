"""A thousand broken files: each loads or is refused in one line; nothing is left behind."""

from pathlib import Path

import onnx
import pytest

from surplus.engine.dfg.onnx_reader import read
from surplus.engine.errors import ModelError
from tests.fuzzing_time import generator, rounds
from tests.onnx_mutations import MUTATIONS

COUNT = 1000


def test_mutated_and_truncated_files(rich: Path, tmp_path: Path) -> None:
    source = rich.read_bytes()
    rng = generator(5)
    victim, cache = tmp_path / "victim.onnx", tmp_path / "cache"
    refusals, count = [], 0
    for index in rounds(COUNT):
        count += 1
        victim.write_bytes(MUTATIONS[index % len(MUTATIONS)](source, rng))
        try:
            read(victim, cache)
        except ModelError as error:
            refusals.append(str(error))
    assert [text for text in refusals if str(victim) not in text or "\n" in text] == []
    assert len(refusals) > count // 4
    assert len(list(cache.glob("*-ort*"))) <= count - len(refusals)
    assert not list(cache.glob(".new-*"))


def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    graph = onnx.helper.make_graph(
        [
            onnx.helper.make_node("Relu", ["x"], ["abc"]),
            onnx.helper.make_node("Neg", ["abc"], ["y"]),
        ],
        "names",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2])],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    path = tmp_path / "victim.onnx"
    path.write_bytes(model.SerializeToString().replace(b"abc", b"a\xb8c"))
    with pytest.raises(ModelError, match=r"victim\.onnx: a name in the model is not UTF-8 text"):
        read(path, tmp_path / "cache")
