"""The simulated neighbours: ends worked out by hand, and what holds of every contender."""

from __future__ import annotations

import pytest

from bench.neighbours.clairvoyant import AskedQuery, clairvoyant_work_ns
from bench.neighbours.mixes import MIXES
from bench.neighbours_simulated.contenders import CONTENDERS, OURS, Scene
from bench.neighbours_simulated.core_machine import CoreMachine
from bench.neighbours_simulated.picture import MISSES, picture
from bench.neighbours_simulated.service_times import stored
from bench.neighbours_simulated.shared_cores import NICE_19, shared, speeds
from bench.neighbours_simulated.stream_load import StreamQuery

MS = 1_000_000


def query(stream: int, arrival_ms: int, due_ms: int, service_ms: int) -> StreamQuery:
    asked = AskedQuery("ab"[stream], arrival_ms * MS, due_ms * MS, service_ms * MS)
    return StreamQuery(stream, asked, service_ms * MS)


def ends_ms(queries: list[StreamQuery], lanes: int = 1) -> list[float]:
    return [end / MS for end in CoreMachine(queries, lanes).served(0).ends_ns]


def test_a_lane_is_lent_to_what_is_due_earlier_and_taken_up_again() -> None:
    assert ends_ms([query(0, 0, 100, 20), query(1, 5, 20, 10)]) == [30, 15]
    assert ends_ms([query(0, 0, 12, 20), query(1, 5, 20, 10)]) == [20, 30], "it is due later"


def test_a_late_query_gives_way_to_one_that_may_be_in_time() -> None:
    late = [query(0, 0, 10, 9), query(0, 1, 11, 9), query(1, 2, 20, 9)]
    assert ends_ms(late) == [9, 27, 18]


def test_what_cannot_be_in_time_is_refused_and_its_caller_goes_on() -> None:
    queries = [query(0, 0, 10, 9)] * 3 + [query(0, 1, 30, 9)]
    found = CoreMachine(queries, 1, refuses=True).served(0)
    assert [end <= q.due_ns for end, q in zip(found.ends_ns, found.queries, strict=True)] == [
        True,
        False,
        False,
        True,
    ]
    assert found.ends_ns[3] == 18 * MS


def test_a_fourth_query_of_a_stream_waits_for_a_caller() -> None:
    queries = [query(0, 0, 1000, 10)] * 4
    assert ends_ms(queries, lanes=8) == [10, 10, 10, 20]


def test_threads_share_the_cores_by_weight() -> None:
    assert speeds(0, 2, 1.0) == (1.0, 2.0)
    assert speeds(2, 2, 1.0) == (0.5, 1.0)
    assert speeds(1, 2, NICE_19) == (1.0, 1.0)
    share, background = speeds(4, 2, NICE_19)
    assert share == pytest.approx(2 / (4 + 2 * NICE_19))
    assert 4 * share + background == pytest.approx(2)
    # Two of 10 ms beside two of background: all have half a core; the second ends alone.
    found = shared([query(0, 0, 50, 10), query(1, 5, 50, 10)], 2, 60 * MS, 1.0)
    first, second = (end / MS for end in found.ends_ns)
    assert first == pytest.approx(5 + (10 - 5 * 2 / 3) / 0.5)
    assert first < second < first + 10
    work_ms = (found.background_ns + 20 * MS) / MS
    assert work_ms == pytest.approx(120)


@pytest.mark.parametrize("load", [1.0, 8.0])
def test_nobody_does_more_than_the_bound_or_than_the_cores_have(load: float) -> None:
    _, service_ns = stored()
    scene = Scene(MIXES["voice"], service_ns, 2)
    scene.seconds = 4.0
    asked = [q.asked for q in scene.queries(load)]
    bound_ns = clairvoyant_work_ns(asked, scene.cores)
    for how, serve in CONTENDERS.items():
        found = scene.answers(serve, load)
        assert found.in_time_ns() <= bound_ns, how
        assert all(
            end >= q.arrival_ns + q.service_ns - 1
            for end, q in zip(found.ends_ns, found.queries, strict=True)
        )
        assert 0 <= found.background_ns <= scene.cores * scene.seconds * 1e9
    if load == 1.0:
        assert scene.answers(CONTENDERS[OURS], load).worst_misses()[0] == 0


def test_the_picture_has_a_curve_a_contender() -> None:
    rows = [
        {"mix": mix, "cores": 2, "contender": how, "load": load, MISSES: load / 10}
        for mix in MIXES
        for how in CONTENDERS
        for load in (1.0, 3.0)
    ]
    drawn = picture(rows, "svg").decode()
    assert all(how in drawn for how in CONTENDERS)
    assert all(f"{mix}, 2 cores" in drawn for mix in MIXES)
