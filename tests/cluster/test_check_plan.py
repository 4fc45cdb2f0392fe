"""The validator refuses what cannot be served, whoever planned it."""

from __future__ import annotations

import pytest

from surplus.cluster import ClusterPlan, Fleet, Replica, Strip, check_plan
from tests.cluster.settings import GB, GPU, MS, model

MODELS = (model("a"), model("b", slo_ms=20))
FLEET = Fleet.of([(GPU, 2)])
WHOLE = Strip(0, 0, 100, 50 * MS, True)
HALF = Strip(0, 0, 50, 50 * MS, True)
A = Replica(0, 0, 8, 10.0, GB)


def test_a_good_plan_passes() -> None:
    check_plan(ClusterPlan((HALF, HALF), (A, A._replace(strip=1))), MODELS, FLEET)


@pytest.mark.parametrize(
    ("strips", "replicas", "said"),
    [
        # places that there are not
        ([WHOLE._replace(node=2)], [A], "there is no node 2; there are 2"),
        ([WHOLE._replace(device=1)], [A], "node 'gpu-0': there is no device 1; it has 1"),
        ([WHOLE], [A._replace(strip=1)], "there is no strip 1"),
        ([WHOLE], [A._replace(model=2)], "there is no model 2"),
        # more than there is
        ([WHOLE, HALF], [A], "node 'gpu-0', device 0 gives away 150 %"),
        ([WHOLE], [A._replace(memory_bytes=17 * GB)], f"{17 * GB} bytes are placed in {16 * GB}"),
        ([WHOLE], [A._replace(memory_bytes=1)], f"model 'a': 1 bytes are counted of {GB}"),
        ([WHOLE], [A._replace(batch=17)], "model 'a': a batch of 17 queries; the most are 16"),
        # late whatever happens: 100 ms of waiting before a batch of 10 ms
        ([WHOLE._replace(period_ns=100 * MS)], [A], "model 'a': 100000000 ns of waiting and 10000"),
        # turns that do not fit the cycle: 10 ms of 9 ms
        ([WHOLE._replace(period_ns=9 * MS)], [A], "turns take 111.1 % of the time"),
        # 600 queries a second of 3 ms each
        (
            [Strip(0, 0, 100, 9 * MS, False)],
            [A._replace(batch=1, rate_per_s=600)],
            "turns take 180.0 % of the time",
        ),
        # six turns of 10 ms in 50 ms
        ([WHOLE], [A] * 6, "turns take 120.0 % of the time"),
        ([WHOLE._replace(share_percent=0)], [A], "a strip of 0 %"),
    ],
)
def test_a_bad_plan_is_refused(strips: list[Strip], replicas: list[Replica], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        check_plan(ClusterPlan(tuple(strips), tuple(replicas)), MODELS, FLEET)
