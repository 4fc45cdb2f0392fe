"""Fitting latency models and group times to samples."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from surplus.colocation.frame.query import Query
from surplus.colocation.frame.work import Group, piece_of
from surplus.colocation.overlap.features import GroupPart, Layout
from surplus.colocation.overlap.group_times import GroupTimes, load_group_times
from surplus.colocation.overlap.measured_truth import MeasuredTruth
from surplus.colocation.overlap.training.fit_mlp import MlpParams, fit_mlp
from surplus.colocation.overlap.training.fit_times import fit_times, held_out_error
from surplus.colocation.overlap.training.instances import instance_groups, samples_of
from surplus.colocation.overlap.training.samples import Samples, read_samples
from surplus.colocation.overlap.training.trainer import TRAINERS, mean_error
from surplus.colocation.randomness.noise import NOISES
from tests.colocation.settings import service

HEADER = "model,start,end,bs,seq_len,model,start,end,bs,seq_len,median,mean,var"
OPERATORS = {"a": 4, "b": 6}


def latency_us(a: tuple[int, int, int], b: tuple[int, int, int]) -> float:
    """A law with overlap: the longer part, and half of the shorter one."""
    parts = sorted(
        [100.0 * (end - start) * (4 + items) for start, end, items in (a, b)], reverse=True
    )
    return parts[0] + parts[1] / 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("samples")
    rng = np.random.default_rng(3)
    lines = [HEADER]
    for _ in range(900):
        a, b = ((int(rng.integers(0, n)), n, int(rng.choice([4, 8]))) for n in (4, 6))
        whole = rng.integers(0, 4)
        a = (0, 4, a[2]) if whole == 0 else a
        b = (6, 6, b[2]) if whole <= 1 else b
        us = latency_us(a, b)
        lines.append(f"a,{a[0]},{a[1]},{a[2]},0,b,{b[0]},{b[1]},{b[2]},0,{us},{us},{us / 20}")
    (path / "a_b.csv").write_text("\n".join(lines))
    return path


@pytest.fixture(scope="module")
def samples(folder: Path) -> Samples:
    return read_samples(folder)


@pytest.fixture(scope="module")
def times(samples: Samples) -> GroupTimes:
    params = MlpParams(hidden=(16, 16), epochs=40, batch=32, learning_rate=1e-2)
    return fit_times(samples, params)


def test_samples_are_groups_without_their_empty_parts(samples: Samples) -> None:
    assert len(samples) == 900
    assert samples.layout.models == ("a", "b")
    assert samples.layout.operators == (4, 6)
    assert samples.layout.slots == 2
    assert all(part.start < part.end for group in samples.groups for part in group)
    assert samples.spread == pytest.approx(np.full(900, 0.05))


def test_the_caller_may_number_the_models(folder: Path) -> None:
    assert read_samples(folder, models=("z", "b")).layout.models == ("b", "a")


def test_samples_lie_in_a_folder_or_just_below_it(folder: Path, tmp_path: Path) -> None:
    inner = tmp_path / "pairs"
    inner.mkdir()
    (inner / "x.csv").write_text((folder / "a_b.csv").read_text())
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "layers.csv").write_text("1,2\n")
    assert len(read_samples(tmp_path)) == 900


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a,0,4,4,0,b,0,6,4,0,1,1", "line 2"),  # a column is missing
        ("a,0,4,4,0,b,0,x,4,0,1,1,1", "line 2"),  # not a number
        ("a,3,2,4,0,b,0,6,4,0,1,1,1", "not a measured group"),  # ends before it starts
        ("a,0,4,4,0,b,0,6,4,0,0,1,1", "not a measured group"),  # takes no time
    ],
)
def test_rows_that_are_no_samples_are_named(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "a_b.csv").write_text(f"{HEADER}\n{line}\n")
    with pytest.raises(ValueError, match=message):
        read_samples(tmp_path)


def test_other_tables_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("time\n1\n")
    with pytest.raises(ValueError, match="columns must be"):
        read_samples(tmp_path)
    with pytest.raises(ValueError, match="nothing: there is no such folder"):
        read_samples(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="empty: no samples"):
        read_samples(tmp_path / "empty")


def test_samples_of_other_models_are_left_out(folder: Path) -> None:
    assert len(read_samples(folder, only=("b", "a"))) == 900
    with pytest.raises(ValueError, match="no samples of operator groups of a, c"):
        read_samples(folder, only=("a", "c"))


def test_a_split_keeps_every_sample_once(samples: Samples) -> None:
    first, second = samples.split(0.8, seed=1)
    assert (len(first), len(second)) == (720, 180)
    both = sorted([*first.median_ms, *second.median_ms])
    assert both == sorted(samples.median_ms)
    with pytest.raises(ValueError, match="nothing on one side"):
        samples.split(1.0, seed=1)


def test_a_perceptron_learns_the_overlap_and_a_line_cannot(samples: Samples) -> None:
    seen, unseen = samples.split(0.8, seed=1)
    mlp = TRAINERS.make("mlp", seen, 1, epochs=60)
    errors = {kind: mean_error(TRAINERS.make(kind, seen, 1), unseen) for kind in ("linear", "svm")}
    assert mean_error(mlp, unseen) < 0.08
    assert min(errors.values()) > 0.1
    assert errors["svm"] < errors["linear"]


def test_fitting_is_repeatable(samples: Samples) -> None:
    params = MlpParams(hidden=(8,), epochs=2)
    assert fit_mlp(samples, params).to_bytes() == fit_mlp(samples, params).to_bytes()
    assert (
        fit_mlp(samples, MlpParams((8,), 2, seed=2)).to_bytes()
        != fit_mlp(samples, params).to_bytes()
    )


@pytest.mark.parametrize("wrong", [{"epochs": 0}, {"hidden": (8, 0)}, {"learning_rate": 0.0}])
def test_parameters_are_checked(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="must be >= 1"):
        MlpParams(**wrong)  # type: ignore[arg-type]


def test_measured_whole_runs_are_the_truth(times: GroupTimes) -> None:
    median_ns, spread = times.of((GroupPart(0, 0, 4, 8),))
    assert median_ns == pytest.approx(latency_us((0, 4, 8), (6, 6, 4)) * 1000)
    assert spread == pytest.approx(0.05)


def test_what_was_not_measured_is_near_the_law_and_always_the_same(times: GroupTimes) -> None:
    assert held_out_error(times) < 0.08
    parts = (GroupPart(0, 1, 4, 8), GroupPart(1, 0, 5, 4))
    wanted_ns = latency_us((1, 4, 8), (0, 5, 4)) * 1000
    assert times.of(parts).median_ns == pytest.approx(wanted_ns, rel=0.35)
    assert times.of(parts) == times.of(parts[::-1])


def test_group_times_survive_a_file(times: GroupTimes, tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    path.write_bytes(times.to_bytes())
    parts = (GroupPart(0, 1, 4, 8), GroupPart(1, 0, 5, 4))
    assert load_group_times(path).of(parts) == pytest.approx(times.of(parts), rel=1e-4)
    path.write_bytes(b"else")
    with pytest.raises(ValueError, match=r"t\.npz"):
        load_group_times(path)


def test_a_truth_scatters_around_the_times_and_repeats_its_luck(times: GroupTimes) -> None:
    services = (service("b", operators=6), service("a", operators=4))
    truth = MeasuredTruth(services, times, NOISES.make("lognormal"), seed=1)
    draws = [
        truth.group_ns(Group(0, 0, (piece_of((Query(k, 1, k, 0, 0, 8),), 0, 4),), 0, 0), 100)
        for k in range(200)
    ]
    median_ns = times.of((GroupPart(0, 0, 4, 8),)).median_ns
    assert np.median(draws) == pytest.approx(median_ns, rel=0.02)
    assert np.std(draws) / median_ns == pytest.approx(0.05, rel=0.25)
    again = MeasuredTruth(services, times, NOISES.make("lognormal"), seed=1)
    group = Group(0, 0, (piece_of((Query(7, 1, 7, 0, 0, 8),), 0, 4),), 0, 0)
    assert again.group_ns(group, 100) == draws[7]
    with pytest.raises(ValueError, match="50 %"):
        truth.group_ns(group, 50)


class FixedTimes(GroupTimes):
    """Each alone 10 ms, each pair 15 ms."""

    def _few(self, parts):  # type: ignore[no-untyped-def]
        from surplus.colocation.overlap.group_times import Time

        return Time({1: 10.0, 2: 15.0}[len(parts)], 0.1)


@pytest.mark.parametrize(("count", "wanted"), [(1, 10), (2, 15), (3, 20), (4, 25)])
def test_more_than_two_save_what_their_pairs_save(
    times: GroupTimes, count: int, wanted: float
) -> None:
    fixed = FixedTimes(times.layout, times.members, times.alone, times.errors)
    parts = tuple(GroupPart(model, 0, 1, 1) for model in range(count))
    assert fixed.of(parts).median_ns == wanted


def test_drawn_groups_are_those_that_a_controller_forms() -> None:
    layout = Layout(("a", "b", "c"), (4, 6, 3), slots=3)
    lengths = ((0,), (0,), (8, 16))
    groups = list(
        islice(instance_groups(layout, (0, 1, 2), (4, 8), lengths, np.random.default_rng(1)), 500)
    )
    ended = []
    for parts in groups:
        assert [part.model for part in parts] == [0, 1, 2]
        ends = [part.end == layout.operators[part.model] for part in parts]
        begins = [part.start == 0 for part in parts]
        assert any(ends)
        assert all(end or begin for end, begin in zip(ends, begins, strict=True))
        assert all(part.start < part.end for part in parts)
        assert all(part.items in (4, 8) and part.sequence in lengths[part.model] for part in parts)
        ended.append(sum(ends))
    assert set(ended) == {1, 2, 3}


def test_a_truth_can_be_sampled(times: GroupTimes) -> None:
    groups = [(GroupPart(0, 0, 4, 8),), (GroupPart(0, 1, 4, 8), GroupPart(1, 0, 5, 4))]
    samples = samples_of(times, groups, slots=2)
    assert samples.rows().shape == (2, 10)
    assert samples.median_ms == pytest.approx([times.of(g).median_ns / 1e6 for g in groups])
