"""The policy ``surplus``: a planner that tries, and a dispatcher that does as it says."""

from __future__ import annotations

from surplus.colocation.foresight import dispatcher as dispatcher
from surplus.colocation.foresight import planner as planner
from surplus.colocation.foresight import predictor as predictor
from surplus.colocation.foresight.aim import OPTIONS
from surplus.colocation.policies.names import PolicySpec, add_policy

add_policy(
    PolicySpec(
        "surplus",
        "foresight",
        planner="foresight",
        predictor="foresight",
        shared=OPTIONS,
        weighs=True,
    )
)
add_policy(PolicySpec("priced", "priced", planner="columns", predictor="serial", weighs=True))
