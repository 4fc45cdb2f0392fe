"""A server under each attack of the bench: it lives, holds what it may, and answers afterwards."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.safety import call_attacks
from bench.safety.attack_server import MIB, Attacked
from bench.safety.attacks import ATTACKS
from bench.safety.target import request

LIMIT_MIB = 1024
ABOVE = 1.1
# Answers of 60 MB are copied while Python makes them, two or three at a time.
ABOVE_OF = {"shared_memory": 1.25}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    with Attacked(tmp_path_factory.mktemp("attacked"), f"{LIMIT_MIB}MiB", ()) as attacked:
        yield attacked


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
def test_it_holds_what_it_may(name: str, server: Attacked) -> None:
    row = server.attack(name)
    assert row["alive"], server.log.read_text()[-2000:]
    assert row["most MiB"] <= ABOVE_OF.get(name, ABOVE) * LIMIT_MIB, row
    assert server.target.infer(request("identity", "FP32", [4], bytes(16))) == "OK"


REFUSED = {
    "rank": {"INVALID_ARGUMENT"},
    "huge_priority": {"OK"},
    "strange_strings": {"OK"},
    "least_by_minus_one": {"OK", "INTERNAL"},
    "empty_batches": {"OK", "INVALID_ARGUMENT", "INTERNAL"},
    "large_answers": {"RESOURCE_EXHAUSTED"},
    "json_text_for_numbers": {"400"},
}


@pytest.mark.parametrize("name", REFUSED)
def test_small_requests_are_answered_or_refused(name: str, server: Attacked) -> None:
    found = ATTACKS[name](server.target)
    assert set(found) == REFUSED[name]
    assert server.is_alive
    assert server.resident_bytes <= ABOVE * LIMIT_MIB * MIB


@pytest.mark.parametrize("name", ["empty_strings", "protobuf_numbers"])
def test_what_would_be_made_of_a_request_counts(name: str, server: Attacked) -> None:
    row = server.attack(name)
    assert row["answers"] == "4 RESOURCE_EXHAUSTED"
    assert row["most MiB"] <= ABOVE * LIMIT_MIB, row


def test_clients_that_do_not_wait_leave_nothing(server: Attacked) -> None:
    """Few of them; the bench has more."""
    assert call_attacks.vanishing(server.target, clients=100) == {"gone": 100}
    assert call_attacks.cancelled_calls(server.target, calls=2000) == {"taken": 2000}
    assert call_attacks.slow_writers(server.target, seconds=0.5) == {"held": 200}
    narrow = call_attacks.window_of_one(server.target)
    assert narrow["connection held"] == 1
    assert server.target.infer(request("identity", "FP32", [4], bytes(16))) == "OK"
    assert server.resident_bytes <= ABOVE * LIMIT_MIB * MIB


def test_small_answers_come_beside_large_ones_that_are_refused(server: Attacked) -> None:
    few = request("zeros", "INT64", [1], (1000).to_bytes(8, "little"))
    assert server.target.infer(few) == "OK"
    assert set(ATTACKS["large_answers"](server.target)) == {"RESOURCE_EXHAUSTED"}
    assert server.target.infer(few) == "OK"
