"""Says which loads no deployment holds, for every verb that reads a scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from surplus.colocation import Scenario
    from surplus.colocation.clairvoyant import Bound


def show_need(scenario: Scenario, bound: Bound) -> None:
    """Print how many devices a load takes at least, if that is more than there are."""
    if bound.in_time == bound.offered or sum(bound.need) <= len(scenario.devices):
        return
    parts = zip(scenario.services, bound.need, strict=True)
    text = ", ".join(f"{service.name} {need:.2f}" for service, need in parts)
    total = f"{sum(bound.need):.2f} of {len(scenario.devices)} devices"
    print(f"no deployment holds this load: it takes at least {total} ({text})")
