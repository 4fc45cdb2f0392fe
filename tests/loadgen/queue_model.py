"""One server with a queue, simulated: latencies that are known, and not independent."""

import numpy as np

from surplus.loadgen.arrivals import PoissonArrivals
from surplus.loadgen.params import LoadgenParams
from surplus.loadgen.query_plan import planned
from surplus.loadgen.record import Records


def queue_records(rate_per_s, service_ns, load, seed):
    """Poisson arrivals, each served for so long after the ones before it (Lindley, 1952).

    ``service_ns`` is one time for all, or gives those of so many queries.
    """
    arrivals = PoissonArrivals(rate_per_s).offsets_ns(np.random.default_rng(seed))
    intended = planned(arrivals, load)
    count = len(intended)
    service = service_ns(count) if callable(service_ns) else np.full(count, service_ns)
    slack = np.concatenate([[0], np.cumsum(service[:-1] - np.diff(intended))])
    waits = slack - np.minimum.accumulate(np.minimum(slack, 0))
    done = intended + np.rint(waits).astype(np.int64) + service
    return Records(intended, intended, done, np.zeros(len(done), np.int16), (), load.warmup_ns)


def exponential_ns(mean_ns, seed):
    """Service times of that mean, as of an M/M/1 queue."""
    generator = np.random.default_rng(seed)
    return lambda count: np.rint(generator.exponential(mean_ns, count)).astype(np.int64)


def queue_p99_ns(rate_per_s, service_ns, seconds=2000, seed=99):
    """Of a long run."""
    rows = queue_records(rate_per_s, service_ns, LoadgenParams(seconds * 10**9), seed)
    return float(np.quantile(rows.done_ns - rows.intended_ns, 0.99))
