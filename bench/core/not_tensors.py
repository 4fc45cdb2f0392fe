"""Values that are not tensors of numbers: maps, strings and bags of words, beside ONNX Runtime.

What scikit-learn's models take and give when converted: a classifier's probabilities by label
(ZipMap), columns of categories, texts. The kernels are ONNX Runtime's in both; what differs is how
Python's objects become values and back.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

import surplus
from bench.infrastructure import peer, result_file
from bench.infrastructure.built_models import FOLDER
from bench.infrastructure.timing import interleaved

ROWS = (1, 100, 3000)
CLASSES = 3
FEATURES = 4
COLUMNS = 5
WORDS = [f"word{i}" for i in range(200)]

Made = tuple[onnx.ModelProto, Callable[[int], dict[str, np.ndarray[Any, Any]]]]


def classifier() -> Made:
    """Probabilities as a list of maps, one a row."""
    rng = np.random.default_rng(0)
    nodes = [
        helper.make_node(
            "LinearClassifier",
            ["x"],
            ["label", "scores"],
            domain="ai.onnx.ml",
            classlabels_ints=list(range(CLASSES)),
            coefficients=rng.standard_normal(CLASSES * FEATURES).tolist(),
            intercepts=[0.0] * CLASSES,
            multi_class=1,
            post_transform="SOFTMAX",
        ),
        helper.make_node(
            "ZipMap",
            ["scores"],
            ["probabilities"],
            domain="ai.onnx.ml",
            classlabels_int64s=list(range(CLASSES)),
        ),
    ]
    kind = helper.make_map_type_proto(
        TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, [])
    )
    graph = helper.make_graph(
        nodes,
        "classifier",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", FEATURES])],
        [
            helper.make_tensor_value_info("label", TensorProto.INT64, ["n"]),
            helper.make_value_info("probabilities", helper.make_sequence_type_proto(kind)),
        ],
    )
    return _model(graph), lambda n: {"x": rng.standard_normal((n, FEATURES)).astype(np.float32)}


def columns() -> Made:
    """Categories to the most frequent form and to numbers: strings in, strings and numbers out."""
    kinds = [f"category {i}" for i in range(20)]
    nodes = [
        helper.make_node(
            "LabelEncoder",
            ["x"],
            ["code"],
            domain="ai.onnx.ml",
            keys_strings=kinds,
            values_int64s=list(range(20)),
        ),
        helper.make_node("Identity", ["x"], ["kept"]),
    ]
    shape = ["n", COLUMNS]
    graph = helper.make_graph(
        nodes,
        "columns",
        [helper.make_tensor_value_info("x", TensorProto.STRING, shape)],
        [
            helper.make_tensor_value_info("code", TensorProto.INT64, shape),
            helper.make_tensor_value_info("kept", TensorProto.STRING, shape),
        ],
    )
    rng = np.random.default_rng(0)
    return _model(graph), lambda n: {"x": rng.choice(kinds, (n, COLUMNS)).astype(object)}


def bag_of_words() -> Made:
    """Texts, split at spaces and counted."""
    nodes = [
        helper.make_node("StringSplit", ["x"], ["words", "lengths"], delimiter=" "),
        helper.make_node(
            "TfIdfVectorizer",
            ["words"],
            ["counts"],
            mode="TF",
            max_gram_length=1,
            min_gram_length=1,
            max_skip_count=0,
            ngram_counts=[0],
            ngram_indexes=list(range(len(WORDS))),
            pool_strings=WORDS,
        ),
    ]
    graph = helper.make_graph(
        nodes,
        "bag_of_words",
        [helper.make_tensor_value_info("x", TensorProto.STRING, ["n"])],
        [helper.make_tensor_value_info("counts", TensorProto.FLOAT, ["n", len(WORDS)])],
    )
    rng = np.random.default_rng(0)

    def texts(n: int) -> dict[str, np.ndarray[Any, Any]]:
        lines = [" ".join(rng.choice(WORDS, 20)) for _ in range(n)]
        return {"x": np.array(lines, object)}

    return _model(graph), texts


MODELS: dict[str, Callable[[], Made]] = {
    "maps (ZipMap)": classifier,
    "columns of strings": columns,
    "bag of words": bag_of_words,
}


def rows(name: str) -> list[dict[str, object]]:
    """Measure one model at every number of rows."""
    model, queries = MODELS[name]()
    path = FOLDER / f"not_tensors-{model.graph.name}.onnx"
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, path)
    loaded = surplus.load(path, devices="cpu:1", cache=FOLDER / "cache", tune="now")
    return [_row(name, path, loaded, queries(count), count) for count in ROWS]


def _row(
    name: str, path: Path, loaded: Any, query: dict[str, np.ndarray[Any, Any]], count: int
) -> dict[str, object]:
    contenders = {
        "engine": lambda: loaded.run(query),
        **peer.runners(path, query, (peer.Setting(1),)),
    }
    times = interleaved(contenders, rounds=15)
    theirs = times["onnxruntime x1"]
    return {
        "values": name,
        "rows": count,
        "engine µs": times["engine"].median_ns / 1e3,
        "ONNX Runtime µs": theirs.median_ns / 1e3,
        "ratio": times["engine"].ratio_to(theirs),
    }


def _model(graph: onnx.GraphProto) -> onnx.ModelProto:
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def main() -> None:
    """Run and store the table."""
    found = [row for name in MODELS for row in rows(name)]
    result_file.show("Values that are not tensors of numbers", found)
    result_file.write("not_tensors", {"devices": "cpu:1", "rounds": 15}, found)


if __name__ == "__main__":
    main()
