"""``python -m bench abacus_decisions``: what Abacus's predictions and decisions take.

Medians on one thread (set OMP_NUM_THREADS=1), beside the paper's on its CPU: a prediction of one
and of 16 groups at once, a whole decision of the search among two and among four models whose last
query does not fit whole.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial

from bench.abacus.models import FOLDER, FOUR
from bench.infrastructure import result_file
from bench.infrastructure.resumable import Row
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.service import Service
from surplus.colocation.overlap.latency_model import load_latency_model
from surplus.colocation.policies.abacus.search import GroupCandidate, GroupSearch
from surplus.colocation.predictors.overlap import Overlap
from surplus.colocation.profiles.affine import Affine

REPEATS = 2000
NS_PER_US = 1_000
PAPER_US = {"predict 1": 66.0, "predict 16": 88.0, "decide, 4 models, 4 ways": 260.0}
"""Abacus (SC'21), section 7.7 and figure 23: 0.066 ms, 0.088 ms for two ways and more."""


def measured(name: str, call: Callable[[], object]) -> Row:
    """Median and 99th percentile of a call."""
    times_ns = []
    for _ in range(REPEATS):
        began_ns = time.perf_counter_ns()
        call()
        times_ns.append(time.perf_counter_ns() - began_ns)
    times_ns = sorted(times_ns[REPEATS // 10 :])
    return {
        "what": name,
        "median_us": round(statistics.median(times_ns) / NS_PER_US, 1),
        "p99_us": round(times_ns[len(times_ns) * 99 // 100] / NS_PER_US, 1),
        "paper_us": PAPER_US.get(name),
    }


class Counter:
    """Counts the predictions of a search."""

    def __init__(self, predictor: Overlap) -> None:
        self._predictor = predictor
        self.calls = 0

    def __call__(self, groups: object, share_percent: int) -> list[int]:
        """Predict groups."""
        self.calls += 1
        return self._predictor.groups_ns(groups, share_percent)  # type: ignore[arg-type]


def rows() -> list[Row]:
    """All rows."""
    path = FOLDER / "mlp_four.npz"
    layout = load_latency_model(path).layout
    operators = [layout.operators[layout.models.index(name)] for name in FOUR]
    services = tuple(
        Service(name, 10**9, 32, count) for name, count in zip(FOUR, operators, strict=True)
    )
    predictor = Overlap(services, (Affine(10**7, 0),) * 4, path, False, False)
    waiting = [
        GroupCandidate(Query(k, k, 0, 0, 10**9, 16, 32 if name == "bert" else 0), 0, count)
        for k, (name, count) in enumerate(zip(FOUR, operators, strict=True))
    ]
    whole = [candidate.piece(candidate.end) for candidate in waiting]
    found = []
    for count in (1, 2, 4, 16):
        groups = [whole[: 1 + k % 4] for k in range(count)]
        found.append(measured(f"predict {count}", partial(predictor.groups_ns, groups, 100)))
    for models in (2, 4):
        times_ns = predictor.groups_ns([whole[: models - 1], whole[:models]], 100)
        for ways in (1, 2, 4, 8):
            counter = Counter(predictor)
            call = partial(GroupSearch(counter, ways).largest, waiting[:models], sum(times_ns) // 2)
            call = partial(call, 100)
            call()
            calls = counter.calls
            row = measured(f"decide, {models} models, {ways} ways", call)
            found.append(row | {"predictions": calls})
    for row in found:
        row.setdefault("predictions", 1)
    return found


def main() -> int:
    """Measure, store, print."""
    table = rows()
    result_file.write("abacus_decisions", {"repeats": REPEATS, "models": FOUR}, table)
    result_file.show("Predictions and decisions", table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
