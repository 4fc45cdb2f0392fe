"""Options of servers change one node after the other."""

from __future__ import annotations

from surplus.engine.deployment.node_report import NodeReport
from surplus.engine.deployment.renewals import renewals

OLD, NEW = ("--devices", "cpu:1"), ("--devices", "cpu:2")


def test_the_first_that_is_behind_is_told() -> None:
    reports = {node: NodeReport(options=OLD) for node in "abc"}
    wanted = dict.fromkeys("abc", NEW)
    assert renewals(wanted, reports) == {"a": NEW, "b": OLD, "c": OLD}
    reports["a"] = NodeReport(options=NEW)
    assert renewals(wanted, reports) == {"a": NEW, "b": NEW, "c": OLD}
    reports |= {"b": NodeReport(options=NEW), "c": NodeReport(options=NEW)}
    assert renewals(wanted, reports) == wanted


def test_a_node_that_is_gone_holds_nobody_up() -> None:
    reports = {node: NodeReport(options=OLD) for node in "bc"}
    assert renewals(dict.fromkeys("abc", NEW), reports) == {"b": NEW, "c": OLD}


def test_a_node_of_no_kind_is_left_as_it_is() -> None:
    assert renewals({}, {"a": NodeReport(options=OLD)}) == {"a": OLD}
