"""VELTAIR's needs and layer blocks, on a small profile and against exhaustive reading."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surplus.colocation.policies.veltair.core_needs import layer_needs, layer_targets_ns, model_need
from surplus.colocation.policies.veltair.layer_blocks import (
    LayerBlock,
    first_pivot,
    form_blocks,
    mean_cores,
    thresholds,
)
from surplus.colocation.policies.veltair.layer_profile import LayerProfile, read_layer_profile
from surplus.colocation.policies.veltair.resnet50 import resnet50_operations

# Three layers on 1, 2, 4 cores; the second does not scale to two cores.
SMALL = LayerProfile((1, 2, 4), ((80, 40, 20), (90, 85, 30), (80, 40, 20)))
TARGETS = (50, 50, 50)


def test_needs_worked_by_hand() -> None:
    assert layer_needs(SMALL, TARGETS) == (2, 4, 2)
    assert SMALL.block_ns(1, 3, 2) == 125
    # 250, 165 and 70 ns as a whole: 150 ns need four cores, 165 two.
    assert model_need(SMALL, 150) == 4
    assert model_need(SMALL, 165) == 2
    with pytest.raises(ValueError, match="70 ns at best, 10 ns too long"):
        model_need(SMALL, 60)


def test_a_layer_that_meets_its_target_on_no_cores_gets_its_fastest() -> None:
    assert layer_needs(SMALL, (50, 20, 50)) == (2, 4, 2)


def test_blocks_begin_at_layers_that_need_more_than_average() -> None:
    profile = LayerProfile((1, 2, 4), ((80, 40, 20), (80, 40, 20), (90, 85, 30), (10, 5, 5)))
    targets = (45, 45, 60, 90)
    assert layer_needs(profile, targets) == (2, 2, 4, 1)
    assert model_need(profile, sum(targets)) == 2
    assert form_blocks(profile, targets, 1) == (LayerBlock(0, 2, 2), LayerBlock(2, 4, 1))
    assert form_blocks(profile, targets, 2) == (LayerBlock(0, 4, 2),)


def test_the_first_layer_is_no_pivot() -> None:
    assert first_pivot((9, 1, 1), 0, 2) is None
    assert first_pivot((9, 1, 9), 0, 2) == 2
    assert first_pivot((9, 1, 9), 2, 2) is None


def test_thresholds_of_the_papers_example() -> None:
    assert thresholds(64, (12, 12, 24)) == (4, 4, 8)
    assert thresholds(64, (40, 40)) == (0, 0)
    assert thresholds(64, ()) == ()


@given(
    times=st.lists(st.tuples(*[st.integers(1, 60)] * 3), min_size=1, max_size=8),
    slack=st.integers(0, 200),
    threshold=st.integers(0, 4),
)
def test_blocks_cover_the_model_and_meet_its_target_if_layers_can(
    times: list[tuple[int, int, int]], slack: int, threshold: int
) -> None:
    profile = LayerProfile((1, 2, 4), tuple(times))
    layers = len(times)
    best_ns = profile.block_ns(0, layers, profile.fastest(0, layers))
    targets = layer_targets_ns([max(row) for row in times], best_ns + slack)
    assert sum(targets) == best_ns + slack
    blocks = form_blocks(profile, targets, threshold)
    edges = [0, *(block.end for block in blocks)]
    assert [block.first for block in blocks] == edges[:-1]
    assert edges[-1] == layers
    met = all(profile.block_ns(*b) <= sum(targets[b.first : b.end]) for b in blocks)
    if all(min(row) <= target for row, target in zip(times, targets, strict=True)) and met:
        assert sum(profile.block_ns(*b) for b in blocks) <= sum(targets)
    assert 1 <= mean_cores(profile, blocks) <= 4


def test_resnet50_has_four_billion_multiply_adds_in_53_convolutions() -> None:
    operations = resnet50_operations()
    assert len(operations) == 53
    assert sum(operations) == pytest.approx(4.09e9, rel=0.01)


def test_a_table_of_times_is_read_and_bad_ones_are_named(tmp_path: Path) -> None:
    path = tmp_path / "layers.csv"
    path.write_text("4,2\n6,3.5\n")
    assert read_layer_profile(path, (1, 2)).times_ns == ((4000, 2000), (6000, 3500))
    path.write_text("4,2\n6,fast\n")
    with pytest.raises(ValueError, match="row 2: could not convert"):
        read_layer_profile(path, (1, 2))
    path.write_text("4,2\n6\n")
    with pytest.raises(ValueError, match="layer 1: 2 times > 0 are needed"):
        read_layer_profile(path, (1, 2))
    with pytest.raises(ValueError, match="cores must be ascending"):
        read_layer_profile(path, (2, 1))
    with pytest.raises(ValueError, match="3 cores were not measured"):
        SMALL.block_ns(0, 1, 3)


def test_bad_thresholds_and_operations_are_refused() -> None:
    with pytest.raises(ValueError, match="threshold must be >= 0"):
        form_blocks(SMALL, TARGETS, -1)
    with pytest.raises(ValueError, match="2 targets for 3 layers"):
        layer_needs(SMALL, (1, 2))
    with pytest.raises(ValueError, match="every layer needs operations"):
        layer_targets_ns([3, 0], 10)
