"""gpulet's applications as requests: queries of one request come together, and count together.

References
----------
gpulet (ATC'22), Fig. 12: the game recognises six digits and an image side by side; the traffic
surveillance detects, then recognises in two ways what it found. Our reading of the latter:
recognisers are asked when the detector's part of the target is over, however early it answered,
since a load is drawn before it is served; so their success is a lower bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from surplus.colocation import Scenario
from surplus.colocation.arrivals.steady import Poisson
from surplus.colocation.frame.arrival import Times
from surplus.colocation.frame.load import Load
from surplus.colocation.frame.query import Outcome
from surplus.colocation.randomness.draws import stream_of
from surplus.colocation.simulation.simulator import Run

AFTER: Mapping[str, Mapping[str, str]] = {"game": {}, "traffic": {"goo": "ssd", "vgg": "ssd"}}
"""By application: stages, and the one that each waits for."""


@dataclass(frozen=True)
class StageArrivals:
    """One stage's queries of requests that all stages have in common.

    Parameters
    ----------
    rate_per_s : float
        Of requests.
    seed : int
        Of their arrivals; the same for all stages.
    delay_ns : int
        From a request to its query.
    """

    rate_per_s: float
    seed: int
    delay_ns: int = 0

    def scaled(self, factor: float) -> StageArrivals:
        """Other requests."""
        return replace(self, rate_per_s=self.rate_per_s * factor)

    def times_ns(self, duration_ns: int, generator: np.random.Generator) -> Times:
        """Of this stage; its own generator is not used."""
        draw = np.random.default_rng(stream_of(self.seed, "requests"))
        times_ns = Poisson(self.rate_per_s).times_ns(duration_ns, draw) + self.delay_ns
        return times_ns[times_ns < duration_ns]


def as_requests(name: str, scenario: Scenario, rate_per_s: float) -> Scenario:
    """An application's scenario at a rate of requests."""
    slos_ns = {service.name: service.slo_ns for service in scenario.services}
    tenants = []
    for tenant in scenario.tenants:
        before = AFTER[name].get(tenant.service.name)
        delay_ns = 0 if before is None else slos_ns[before]
        arrivals = StageArrivals(rate_per_s, scenario.seed, delay_ns)
        tenants.append(replace(tenant, arrivals=arrivals))
    return replace(scenario, tenants=tuple(tenants))


def requests_in_time(run: Run, load: Load) -> float:
    """Share of the requests of which every stage was in time; 1 if there were none.

    Requests whose last stage would come after the load's end do not count.
    """
    in_time = np.frombuffer(run.record.outcome, np.int8) == Outcome.IN_TIME
    stages = [in_time[load.service == k] for k in np.unique(load.service)]
    count = min((len(own) for own in stages), default=0)
    if not count:
        return 1.0
    return float(np.logical_and.reduce([own[:count] for own in stages]).mean())
