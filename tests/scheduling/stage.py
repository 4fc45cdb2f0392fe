"""Small models on a backend, and groups to run on them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from surplus.colocation.frame.query import Query
from surplus.colocation.frame.service import Partition
from surplus.colocation.frame.work import Group, Piece, piece_of
from surplus.engine.devices.emulation_params import EmulationParams
from surplus.engine.scheduling.backend import EngineBackend
from surplus.engine.scheduling.base_plan import BasePlanParams
from surplus.engine.scheduling.live_model import LiveModel, LiveModelParams, load_live_model
from surplus.engine.scheduling.place import Place
from surplus.engine.scheduling.setting_up import places

HEADER = '<ir_version: 9, opset_import: ["" : 18]>\n'

CHAIN = """chain (float[n, 3] x) => (float[n, 3] y, float[n, 3] z) {
    a = Exp(x)  b = Neg(a)  z = Tanh(b)  c = Add(b, x)  d = Sigmoid(c)  e = Mul(d, a)  y = Sqrt(e)
}"""
"""x and a are read again after cuts, z is an answer from the middle."""

FIXED = "fixed (float[2, 3] x) => (float[2, 3] y) { a = Exp(x)  b = Neg(a)  y = Tanh(b) }"


def chain_of(x: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """What CHAIN answers."""
    a = np.exp(x)
    d = 1 / (1 + np.exp(-(x - a)))
    return {"y": np.sqrt(d * a), "z": np.tanh(-a)}


def saved(text: str, folder: Path) -> Path:
    model = onnx.parser.parse_model(HEADER + text)
    path = folder / f"{model.graph.name}.onnx"
    onnx.save(model, path)
    return path


class Stage:
    """A backend over models of our own, with each query's inputs and answers at hand."""

    def __init__(
        self,
        folder: Path,
        texts: Sequence[str],
        operators: Sequence[int],
        devices: str = "cpu:2",
        lanes: int = 2,
        emulation: EmulationParams | None = None,
        by_share: bool = False,
    ) -> None:
        self.devices: tuple[Place, ...] = places(devices, [lanes], emulation, by_share)
        self.models: list[LiveModel] = [
            load_live_model(
                f"m{i}",
                saved(text, folder),
                self.devices[0],
                LiveModelParams(n, plan=BasePlanParams(cache=folder / "cache")),
            )
            for i, (text, n) in enumerate(zip(texts, operators, strict=True))
        ]
        self.inputs: dict[int, dict[str, Any]] = {}
        self.answers: dict[int, dict[str, Any]] = {}
        self.backend = EngineBackend(
            self.models, self.devices, lambda query: self.inputs[query.id], self._answer
        )
        self.backend.prepare([Partition(0, 100 // lanes)] * lanes)
        self._groups = count()

    def _answer(self, query: Query, answer: dict[str, Any]) -> None:
        assert query.id not in self.answers
        self.answers[query.id] = answer

    def query(self, index: int, service: int = 0, items: int = 1) -> Query:
        shape = (2, 3) if service and not self.models[service].stackable else (items, 3)
        content = np.random.default_rng(index).standard_normal(shape, np.float32)
        self.inputs[index] = {"x": content}
        return Query(index, service, index, 0, 0, items)

    def run(self, *pieces: Piece, partition: int = 0) -> str:
        """Run a group to its end; why it failed, if it did."""
        group = Group(next(self._groups), partition, pieces, 0, 0)
        self.backend.start(group)
        (ended,) = self.backend.wait(None)
        assert ended.group is group
        return ended.error

    def expect(self, *queries: Query) -> None:
        """The queries' answers are there, and right."""
        for query in queries:
            for name, wanted in chain_of(self.inputs[query.id]["x"]).items():
                np.testing.assert_allclose(
                    self.answers[query.id][name], wanted, rtol=1e-3, atol=1e-4
                )


def piece(queries: Sequence[Query], start: int, end: int) -> Piece:
    return piece_of(tuple(queries), start, end)
