"""What queries bring: all inputs that were measured, or the least of them.

Abacus's small networks (SC'21, Fig. 16) were not published with its measurements. The least inputs
of the measured ones stand in: queries of a few milliseconds, of which a decision is a larger part,
and which leave more of the device free. So this says what happens to short queries, and nothing of
those networks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from surplus.colocation import Scenario


def every(scenario: Scenario) -> Scenario:
    """As the scenario has them."""
    return scenario


def least(scenario: Scenario) -> Scenario:
    """The smallest batch and the shortest sequence of each service."""
    tenants = (
        replace(tenant, items=(min(tenant.items),), sequences=(min(tenant.sequences),))
        for tenant in scenario.tenants
    )
    return replace(scenario, tenants=tuple(tenants))


INPUTS: dict[str, Callable[[Scenario], Scenario]] = {"all": every, "least": least}
