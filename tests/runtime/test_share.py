from __future__ import annotations

import pytest

from surplus.engine.runtime.share import Share


def test_a_hundredth_of_the_queries_time_may_be_lost() -> None:
    share = Share()
    assert not share.affords(1)
    share.earn(1_000)
    assert share.left_ns == 10
    assert share.affords(10)
    assert not share.affords(11)


def test_what_was_lost_is_paid_before_more_may_be() -> None:
    share = Share(0.5)
    share.spend(30)
    share.earn(40)
    assert share.left_ns == -10
    share.earn(40)
    assert share.left_ns == 10
    assert (share.queries_ns, share.lost_ns) == (80, 30)


@pytest.mark.parametrize("of_time", [-0.1, 1.1, float("nan")])
def test_a_share_out_of_range(of_time: float) -> None:
    with pytest.raises(ValueError, match="of_time must be 0 to 1"):
        Share(of_time)
