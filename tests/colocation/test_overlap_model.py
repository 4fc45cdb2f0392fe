"""Latency models of operator groups: rows, files, predictions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from surplus.colocation.frame.predictor import PREDICTORS
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.work import piece_of
from surplus.colocation.overlap.features import GroupPart, Layout
from surplus.colocation.overlap.latency_model import LatencyModel, load_latency_model
from surplus.colocation.overlap.perceptron import Perceptron, pack
from surplus.colocation.profiles.affine import Affine
from tests.colocation.settings import MS, service

LAYOUT = Layout(("a", "b", "c"), (4, 6, 2), slots=2)


def model(weights: np.ndarray | None = None) -> LatencyModel:
    """One millisecond for each operator; ``end - start`` of both slots."""
    if weights is None:
        weights = np.zeros((LAYOUT.width, 1))
        weights[[3, 7]], weights[[4, 8]] = -1, 1
    return LatencyModel("linear", LAYOUT, Perceptron((weights,), (np.zeros(1),)))


def test_a_row_has_the_bits_and_then_the_models_in_their_order() -> None:
    parts = [GroupPart(2, 0, 2, 8, 16), GroupPart(0, 1, 4, 4)]
    assert LAYOUT.rows([parts]).tolist() == [[1, 0, 1, 1, 4, 4, 0, 0, 2, 8, 16]]
    assert LAYOUT.rows([parts], in_order=True).tolist() == [[1, 0, 1, 0, 2, 8, 16, 1, 4, 4, 0]]


def test_slots_of_models_that_do_not_run_are_empty() -> None:
    assert LAYOUT.rows([[GroupPart(1, 0, 6, 2)], []]).tolist() == [
        [0, 1, 0, 0, 6, 2, 0, 0, 0, 0, 0],
        [0] * 11,
    ]


def test_more_models_than_slots_are_refused() -> None:
    with pytest.raises(ValueError, match="more than 2 models"):
        LAYOUT.rows([[GroupPart(0, 0, 1, 1), GroupPart(1, 0, 1, 1), GroupPart(2, 0, 1, 1)]])


@pytest.mark.parametrize(
    ("models", "operators", "slots"),
    [
        (("a", "a"), (1, 1), 1),  # double
        (("a",), (1, 2), 1),  # lengths differ
        (("a",), (0,), 1),  # no operators
        (("a",), (1,), 0),  # no slots
        ((), (), 1),  # nothing
    ],
)
def test_layouts_that_mean_nothing_are_refused(
    models: tuple[str, ...], operators: tuple[int, ...], slots: int
) -> None:
    with pytest.raises(ValueError, match="operators"):
        Layout(models, operators, slots)


def test_hidden_layers_are_rectified() -> None:
    first, last = np.array([[1.0, -1.0]]), np.array([[1.0], [1.0]])
    magnitude = Perceptron((first, last), (np.zeros(2), np.array([0.5])))
    assert magnitude(np.array([[3.0], [-2.0]])).tolist() == [3.5, 2.5]


@pytest.mark.parametrize(
    ("weights", "biases", "message"),
    [
        ((), (), "one output"),
        ((np.ones((2, 3)),), (np.ones(3),), "one output"),
        ((np.ones((2, 3)), np.ones((2, 1))), (np.ones(3), np.ones(1)), "a layer of shapes"),
        ((np.full((2, 1), np.nan),), (np.ones(1),), "finite"),
    ],
)
def test_layers_that_do_not_fit_are_refused(
    weights: tuple[np.ndarray, ...], biases: tuple[np.ndarray, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Perceptron(weights, biases)


def test_a_file_gives_the_model_back_and_is_small(tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    shapes = [(LAYOUT.width, 32), (32, 32), (32, 1)]
    weights = tuple(generator.standard_normal(s).astype(np.float32).astype(float) for s in shapes)
    before = LatencyModel("mlp", LAYOUT, Perceptron(weights, tuple(np.ones(s[1]) for s in shapes)))
    path = tmp_path / "m.npz"
    path.write_bytes(before.to_bytes())
    after = load_latency_model(path)
    rows = LAYOUT.rows([[GroupPart(1, 0, 6, 2)], [GroupPart(0, 1, 3, 4), GroupPart(2, 0, 1, 8)]])
    assert after.layout == LAYOUT
    assert after.kind == "mlp"
    assert after.latency_ms(rows).tolist() == before.latency_ms(rows).tolist()
    assert after.to_bytes() == before.to_bytes()
    assert path.stat().st_size < 14_000


@pytest.mark.parametrize(
    "content",
    [b"", b"no archive", pack({"format": "else"}, {}), pack({"format": "latency model"}, {})],
)
def test_other_files_are_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "m.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"m\.npz"):
        load_latency_model(path)


def test_a_model_for_other_rows_is_refused() -> None:
    with pytest.raises(ValueError, match="5 inputs for rows of 11"):
        model(np.ones((5, 1)))


class TestOverlapPredictor:
    services = (service("b", operators=6, max_batch=8), service("c", operators=2, max_batch=8))
    profiles = (Affine(9 * MS, 0), Affine(5 * MS, 0))

    def make(self, folder: Path, **options: object) -> object:
        path = folder / "m.npz"
        path.write_bytes(model().to_bytes())
        return PREDICTORS.make("overlap", self.services, self.profiles, path=str(path), **options)

    def test_it_asks_the_model_for_all_groups_at_once(self, tmp_path: Path) -> None:
        predictor = self.make(tmp_path)
        b, c = Query(0, 0, 0, 0, 9 * MS), Query(1, 1, 0, 0, 9 * MS)
        groups = [[piece_of((b,), 1, 4)], [piece_of((b,), 0, 6), piece_of((c,), 0, 2)]]
        assert predictor.groups_ns(groups, 100) == [3 * MS, 8 * MS]  # type: ignore[attr-defined]
        assert predictor.group_ns(groups[0], 100) == 3 * MS  # type: ignore[attr-defined]
        assert predictor.alone_ns(0, 1, 0, 100) == 6 * MS  # type: ignore[attr-defined]

    def test_whole_queries_alone_may_be_looked_up(self, tmp_path: Path) -> None:
        predictor = self.make(tmp_path, alone="profile")
        b = Query(0, 0, 0, 0, 9 * MS)
        groups = [[piece_of((b,), 0, 6)], [piece_of((b,), 0, 5)]]
        assert predictor.groups_ns(groups, 100) == [9 * MS, 5 * MS]  # type: ignore[attr-defined]
        assert predictor.alone_ns(0, 1, 0, 100) == 9 * MS  # type: ignore[attr-defined]

    @pytest.mark.parametrize("bias_ms", [1e30, -1e30])
    def test_predictions_that_are_no_times_are_refused(
        self, tmp_path: Path, bias_ms: float
    ) -> None:
        path = tmp_path / "m.npz"
        absurd = Perceptron((np.zeros((LAYOUT.width, 1)),), (np.array([bias_ms]),))
        path.write_bytes(LatencyModel("mlp", LAYOUT, absurd).to_bytes())
        predictor = PREDICTORS.make("overlap", self.services, self.profiles, path=str(path))
        with pytest.raises(ValueError, match=r"m\.npz: predicts -?1e\+30 ms"):
            predictor.alone_ns(0, 1, 0, 100)

    def test_other_shares_were_not_sampled(self, tmp_path: Path) -> None:
        predictor = self.make(tmp_path)
        with pytest.raises(ValueError, match="50 %"):
            predictor.groups_ns([[piece_of((Query(0, 0, 0, 0, 1),), 0, 6)]], 50)  # type: ignore[attr-defined]

    def test_without_a_file_nothing_overlaps(self) -> None:
        predictor = PREDICTORS.make("overlap", self.services, self.profiles)
        b, c = Query(0, 0, 0, 0, 9 * MS), Query(1, 1, 0, 0, 9 * MS)
        assert predictor.group_ns([piece_of((b,), 0, 6), piece_of((c,), 0, 2)], 100) == 14 * MS

    @pytest.mark.parametrize(
        ("name", "operators", "message"),
        [("d", 2, "'d' was not sampled"), ("c", 3, "has 3 operators, was sampled with 2")],
    )
    def test_services_that_were_not_sampled_are_refused(
        self, tmp_path: Path, name: str, operators: int, message: str
    ) -> None:
        path = tmp_path / "m.npz"
        path.write_bytes(model().to_bytes())
        services = (service(name, operators=operators),)
        with pytest.raises(ValueError, match=message):
            PREDICTORS.make("overlap", services, self.profiles[:1], path=str(path))

    def test_unknown_sources_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="alone must be one of"):
            self.make(tmp_path, alone="guess")
