"""Rates of models from what nodes' servers have counted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from surplus.engine.deployment.node_report import NodeReport

NS_PER_S = 1_000_000_000


class RateMeter:
    """Counts queries of a window.

    Parameters
    ----------
    now_ns : int
        When the first window begins.
    """

    def __init__(self, now_ns: int) -> None:
        self._began_ns = now_ns
        self._counts: defaultdict[str, int] = defaultdict(int)
        self._last: dict[str, NodeReport] = {}

    def see(self, reports: Mapping[str, NodeReport]) -> None:
        """Add what came since the last look; a server that was started anew counts from 0."""
        for node, report in reports.items():
            before = self._last.get(node)
            known = before.queries if before and before.starts == report.starts else {}
            for name, count in report.queries.items():
                self._counts[name] += max(0, count - known.get(name, 0))
            if report.addresses.http:
                self._last[node] = report

    def elapsed_s(self, now_ns: int) -> float:
        """Since the window began."""
        return (now_ns - self._began_ns) / NS_PER_S

    def take(self, now_ns: int) -> dict[str, float]:
        """Queries a second, by model, of the window, which ends."""
        elapsed_s = max(self.elapsed_s(now_ns), 1e-9)
        rates = {name: count / elapsed_s for name, count in self._counts.items()}
        self._counts.clear()
        self._began_ns = now_ns
        return rates
