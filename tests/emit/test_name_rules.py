import pytest
from hypothesis import given
from hypothesis import strategies as st

from surplus.engine.emit.name_rules import LONGEST, matched, name_rules


def parsed(value):
    """Patterns and devices as ONNX Runtime reads them."""
    rules = []
    for entry in value.split(";"):
        device, _, rest = entry.partition("(")
        rules += [(pattern, device) for pattern in rest.rstrip(")").split(",")]
    return rules


def devices_by(value, rows):
    return matched(parsed(value), [name for name, _ in rows])


def test_parts_of_a_network_are_named_by_their_beginnings():
    rows = [(f"/body/conv.{i}", "gpu") for i in range(50)]
    rows += [(f"/neck/gather.{i}", "cpu") for i in range(50)]
    assert name_rules(rows) == "gpu(/body/);cpu(/neck/)"


def test_a_name_within_anothers_is_told_from_it():
    rows = [("relu_1", "cpu"), ("relu_10", "gpu"), ("relu_11", "cpu"), ("add", "gpu")]
    value = name_rules(rows)
    assert devices_by(value, rows) == ["cpu", "gpu", "cpu", "gpu"]


@pytest.mark.parametrize(
    "rows",
    [
        [("", "cpu"), ("b", "gpu")],
        [("a", "cpu"), ("a", "gpu")],
        [("a(1)", "cpu"), ("b", "gpu")],
        [("=a", "cpu"), ("b", "gpu")],
        [("a ", "cpu"), ("b", "gpu")],
    ],
)
def test_names_that_tell_nothing_apart_have_no_rules(rows):
    assert name_rules(rows) is None


def test_rules_that_are_too_long_are_none():
    rows = [(f"{i:04}x", ("cpu", "gpu")[i % 2]) for i in range(2_000)]
    assert name_rules(rows) is None
    short = name_rules(rows[:1_000])
    assert short is not None
    assert len(short) <= LONGEST


NAMES = st.text("ab/_.;(= ", max_size=8)


@given(st.lists(st.tuples(NAMES, st.sampled_from(["cpu", "gpu", "cuda"])), max_size=12))
def test_rules_give_each_node_its_device_or_are_none(rows):
    value = name_rules(rows)
    if value:
        assert devices_by(value, rows) == [device for _, device in rows]
