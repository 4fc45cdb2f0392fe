"""The latency targets that Abacus was judged by: its text's, and its release's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from surplus.colocation import Scenario

OVER_SOLO = 2
"""Times the solo latency at the largest input; Abacus (SC'21), section 7.1."""


def released(scenario: Scenario) -> Scenario:
    """One target for each pair, as the scenario files have it: the list of the public release."""
    return scenario


def over_solo(scenario: Scenario) -> Scenario:
    """Twice what the largest query of each service takes alone."""
    demand = scenario.demand()
    tenants = []
    for index, tenant in enumerate(scenario.tenants):
        alone_ns = demand.latency_ns(index, demand.items[index])
        service = replace(tenant.service, slo_ns=OVER_SOLO * alone_ns)
        tenants.append(replace(tenant, service=service))
    return replace(scenario, tenants=tuple(tenants))


TARGETS: dict[str, Callable[[Scenario], Scenario]] = {"release": released, "2x solo": over_solo}
