"""The policies that D-STACK is compared with, itself by its paper's settings and by parts of them.

References
----------
D-STACK (TCC'24): section 5.B adds 5 to 10 % to a knee, section 6.A.1 loads instances below it.
"""

from __future__ import annotations

from typing import Any

from surplus.colocation import PolicySpec, policy_spec
from surplus.colocation.policies.names import with_options

DSTACK, AT_KNEE = "D-STACK", "D-STACK at the knee"
TURNS, FILL = "turns alone", "fill alone"
WHOLE = "whole device, D-STACK's order and batches"
ABOVE, TEN_ABOVE, BELOW = (
    "5 % above the knee",
    "10 % above the knee",
    "instances below the knee",
)
TEMPORAL, SLICES, KEPT_SLICES = (
    "best-effort temporal",
    "slices by target",
    "slices by target, no drops",
)


def _shares(**options: Any) -> PolicySpec:
    """D-STACK at the knee, but for options of its planner."""
    return with_options(policy_spec("dstack_at_knee"), {"planner": options})


COMPARED: dict[str, PolicySpec] = {
    DSTACK: policy_spec("dstack"),
    AT_KNEE: policy_spec("dstack_at_knee"),
    ABOVE: _shares(spare_percent=5),
    TEN_ABOVE: _shares(spare_percent=10),
    BELOW: _shares(reduced=0.6),
    TURNS: policy_spec("dstack_plain"),
    FILL: policy_spec("dstack_fill"),
    WHOLE: policy_spec("dstack_temporal"),
    "GSLICE": policy_spec("gslice_drop"),
    "fixed batch, static shares": PolicySpec(
        "fixed_batch_shared", "fixed_batch", {"drop": True}, "knee_shares", {"static": True}
    ),
    "max-throughput": policy_spec("max_throughput_drop"),
    "max-min": policy_spec("max_min_drop"),
    TEMPORAL: policy_spec("temporal_drop"),
    SLICES: policy_spec("slices_drop"),
    KEPT_SLICES: policy_spec("slices"),
}
"""By what the tables call them."""

OWN = (DSTACK, AT_KNEE, ABOVE, TEN_ABOVE, BELOW, TURNS, FILL, WHOLE)
"""D-STACK and its parts."""
