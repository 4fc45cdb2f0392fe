"""Old replicas serve until new ones do, and a while longer for clients that do not know yet."""

from __future__ import annotations

from surplus.engine.deployment.handover import Handover

GRACE_NS = 100


def test_what_is_planned_is_held_and_told_of_once_it_is_ready() -> None:
    handover = Handover(GRACE_NS)
    duty = handover.step({"a": {"m"}}, {}, 0)
    assert (duty.held, duty.told) == ({"a": {"m"}}, {})
    duty = handover.step({"a": {"m"}}, {"a": {"m"}}, 10)
    assert (duty.held, duty.told) == ({"a": {"m"}}, {"a": {"m"}})


def test_the_old_one_serves_until_all_new_ones_are_ready() -> None:
    handover = Handover(GRACE_NS)
    handover.step({"a": {"m"}}, {"a": {"m"}}, 0)
    wanted = {"b": {"m"}, "c": {"m"}}
    duty = handover.step(wanted, {"a": {"m"}, "b": {"m"}}, 1000)
    assert duty.told == {"a": {"m"}, "b": {"m"}}
    assert duty.held == {"a": {"m"}, "b": {"m"}, "c": {"m"}}
    ready = {"a": {"m"}, "b": {"m"}, "c": {"m"}}
    duty = handover.step(wanted, ready, 1050)
    assert duty.told == {"b": {"m"}, "c": {"m"}}
    assert duty.held["a"] == {"m"}  # clients may still come
    assert "a" not in handover.step(wanted, ready, 1101).held


def test_a_model_that_sleeps_is_unloaded_after_the_grace() -> None:
    handover = Handover(GRACE_NS)
    handover.step({"a": {"m"}}, {"a": {"m"}}, 0)
    duty = handover.step({}, {"a": {"m"}}, 50)
    assert (duty.told, duty.held) == ({}, {"a": {"m"}})
    assert handover.step({}, {"a": {"m"}}, 100).held == {}


def test_others_go_on_while_one_is_missing() -> None:
    handover = Handover(GRACE_NS)
    ready = {"a": {"m", "n"}}
    handover.step({"a": {"m", "n"}}, ready, 0)
    duty = handover.step({"b": {"m"}, "a": {"n"}}, ready, 500)
    assert duty.told == {"a": {"m", "n"}}


def test_a_node_that_does_not_answer_is_not_told_of() -> None:
    handover = Handover(GRACE_NS)
    wanted = {"a": {"m"}, "b": {"m"}}
    handover.step(wanted, {"a": {"m"}, "b": {"m"}}, 0)
    duty = handover.step(wanted, {"b": {"m"}}, 10)
    assert duty.told == {"b": {"m"}}
    assert duty.held == {"a": {"m"}, "b": {"m"}}
