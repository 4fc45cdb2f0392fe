"""Versions change one node at a time, and back if they cannot be served."""

from __future__ import annotations

from collections.abc import Mapping

from surplus.engine.deployment.node_report import NodeReport
from surplus.engine.deployment.rollouts import Rollouts

ONE, TWO, BOTH = (1,), (2,), (1, 2)


def report(versions: tuple[int, ...], failed: str = "", uncopied: str = "") -> NodeReport:
    return NodeReport(
        staged={"m": versions},
        ready={} if failed else {"m": versions},
        failed={"m": failed} if failed else {},
        uncopied={"m": uncopied} if uncopied else {},
    )


def given(rollouts: Rollouts, reports: Mapping[str, NodeReport]) -> dict[str, tuple[int, ...]]:
    held = {node: {"m"} for node in "abc"}
    return {node: own["m"] for node, own in rollouts.step(held, reports).items()}


def at_first() -> tuple[Rollouts, dict[str, NodeReport]]:
    rollouts = Rollouts({"m": ONE})
    reports = dict.fromkeys("abc", report(ONE))
    assert given(rollouts, reports) == dict.fromkeys("abc", ONE)
    return rollouts, reports


def test_one_node_after_the_other() -> None:
    rollouts, reports = at_first()
    rollouts.aim("m", TWO)
    assert given(rollouts, reports) == {"a": TWO, "b": ONE, "c": ONE}
    assert given(rollouts, reports) == {"a": TWO, "b": ONE, "c": ONE}  # it is not ready yet
    reports["a"] = report(TWO)
    assert given(rollouts, reports) == {"a": TWO, "b": TWO, "c": ONE}
    assert not rollouts.is_done("m")
    reports["b"] = report(TWO)
    assert given(rollouts, reports) == dict.fromkeys("abc", TWO)
    assert rollouts.is_done("m")


def test_versions_side_by_side() -> None:
    rollouts, reports = at_first()
    rollouts.aim("m", BOTH)
    for node in "abc":
        assert given(rollouts, reports)[node] == BOTH
        reports[node] = report(BOTH)


def test_what_cannot_be_served_goes_back_and_says_why() -> None:
    rollouts, reports = at_first()
    rollouts.aim("m", TWO)
    given(rollouts, reports)
    reports["a"] = report(TWO, failed="no such operator")
    assert given(rollouts, reports) == dict.fromkeys("abc", ONE)
    assert "no such operator" in rollouts.failures["m"]
    reports["a"] = report(ONE)
    assert given(rollouts, reports) == dict.fromkeys("abc", ONE)
    rollouts.aim("m", (3,))
    assert rollouts.failures == {}
    assert given(rollouts, reports)["a"] == (3,)


def test_what_cannot_be_copied_goes_back_too() -> None:
    rollouts, reports = at_first()
    rollouts.aim("m", TWO)
    given(rollouts, reports)
    reports["a"] = report(ONE, uncopied="permission denied")
    assert given(rollouts, reports) == dict.fromkeys("abc", ONE)


def test_a_failure_of_the_former_version_does_not_count() -> None:
    rollouts, reports = at_first()
    rollouts.aim("m", TWO)
    given(rollouts, reports)
    reports["a"] = report(ONE, failed="it was lost")
    assert given(rollouts, reports) == {"a": TWO, "b": ONE, "c": ONE}


def test_a_node_that_is_gone_does_not_hold_the_others_up() -> None:
    rollouts, reports = at_first()
    rollouts.aim("m", TWO)
    given(rollouts, reports)
    del reports["a"]
    assert given(rollouts, reports)["b"] == TWO


def test_who_comes_meanwhile_is_given_what_has_proved_itself() -> None:
    rollouts, reports = at_first()
    rollouts.aim("m", TWO)
    given(rollouts, reports)
    held = {node: {"m"} for node in "abcd"}
    assert rollouts.step(held, reports)["d"]["m"] == ONE


def test_a_new_controller_finds_what_nodes_serve() -> None:
    rollouts = Rollouts({"m": TWO})
    reports = dict.fromkeys("abc", report(ONE))
    assert given(rollouts, reports) == {"a": TWO, "b": ONE, "c": ONE}
