"""Rates from counters of servers that come and go."""

from __future__ import annotations

from surplus.engine.deployment.node_report import NodeReport
from surplus.engine.deployment.rate_meter import NS_PER_S, RateMeter
from surplus.engine.deployment.server_process import Addresses

UP = Addresses("h:1", "h:2", "h:3")


def counted(queries: int, starts: int = 1) -> NodeReport:
    return NodeReport(UP, queries={"m": queries}, starts=starts)


def test_queries_of_a_window_over_all_nodes() -> None:
    meter = RateMeter(0)
    meter.see({"a": counted(10), "b": counted(4)})
    meter.see({"a": counted(16), "b": counted(4)})
    assert meter.take(2 * NS_PER_S) == {"m": 10.0}
    meter.see({"a": counted(17), "b": counted(4)})
    assert meter.take(3 * NS_PER_S) == {"m": 1.0}


def test_a_server_that_was_started_anew_counts_from_nothing() -> None:
    meter = RateMeter(0)
    meter.see({"a": counted(100)})
    meter.take(NS_PER_S)
    meter.see({"a": counted(120, starts=2)})
    assert meter.take(2 * NS_PER_S) == {"m": 120.0}


def test_a_look_that_finds_no_server_forgets_nothing() -> None:
    meter = RateMeter(0)
    meter.see({"a": counted(100)})
    meter.take(NS_PER_S)
    meter.see({"a": NodeReport(starts=1)})
    meter.see({"a": counted(103)})
    assert meter.take(2 * NS_PER_S) == {"m": 3.0}
