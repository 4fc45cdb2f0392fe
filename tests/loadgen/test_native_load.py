"""The native client over gRPC: against a real server, and against peers that misbehave."""

import asyncio
import socket
import threading

import grpc
import numpy as np
import pytest

from surplus.loadgen import native_load
from surplus.loadgen.address import HostPort
from surplus.loadgen.clients.grpc_request import call_headers, framed
from surplus.loadgen.closed_loop import ClosedLoopParams
from surplus.loadgen.errors import TargetError
from surplus.loadgen.native import http2_missing
from surplus.loadgen.native_load import NativeLoad, NativeParams, NativeTarget
from surplus.loadgen.open_loop import OpenLoopParams
from surplus.loadgen.params import LoadgenParams
from surplus.loadgen.query_plan import planned
from surplus.loadgen.record import OVERFLOW
from surplus.loadgen.targets import native_run
from surplus.loadgen.transport import TransportParams
from tests.loadgen.echo_server import EchoServer
from tests.loadgen.scripted_server import ScriptedServer

pytestmark = pytest.mark.skipif(http2_missing() is not None, reason=str(http2_missing()))

_MINUTE_NS = 60_000_000_000


@pytest.fixture
def echo():
    server = EchoServer()
    yield server
    server.end()


def _target(address, *messages, timeout_ns=_MINUTE_NS):
    place = HostPort(*address)
    requests = [framed(message) for message in messages or (b"question",)]
    return NativeTarget(place, requests, call_headers(str(place), timeout_ns), timeout_ns)


def _closed(target, count, users=1, warmup_ns=0, **params):
    load = LoadgenParams(min_duration_ns=0, min_count=count, warmup_ns=warmup_ns)
    return NativeLoad(target, ClosedLoopParams(load, users), NativeParams(**params))


def _open(target, offsets_ns, max_outstanding=1000, **params):
    load = LoadgenParams(min_duration_ns=0, min_count=len(offsets_ns))
    loop = OpenLoopParams(load, max_outstanding)
    return NativeLoad(target, loop, NativeParams(**params), offsets_ns)


@pytest.mark.parametrize(("users", "connections"), [(1, 0), (3, 0), (7, 2), (16, 1)])
def test_every_query_is_sent_and_answered_once(echo, users, connections):
    records = _closed(_target(echo.address), 100, users, connections=connections).run()
    assert len(records) == len(echo.requests) >= 100
    assert not records.kind.any()
    assert set(echo.requests) == {b"question"}
    assert (records.done_ns > records.sent_ns).all()
    assert (records.intended_ns == records.sent_ns).all()


def test_calls_wait_for_a_server_that_takes_few_at_once():
    """What it still counts when the next call comes it refuses: we do not ask twice."""
    server = EchoServer([("grpc.max_concurrent_streams", 2)])
    try:
        # So many that some are answered however fast refusals are.
        records = _closed(_target(server.address), 600, users=16, connections=1).run()
    finally:
        server.end()
    refused = records.is_kind("UNAVAILABLE")
    assert len(records) - refused.sum() == len(server.requests) >= 16
    assert set(records.kinds) <= {"UNAVAILABLE"}
    assert set(records.messages) <= {"the call was reset with error 7"}


def test_a_server_that_ends_its_connections_is_asked_over_new_ones():
    """GOAWAY: calls that are under way are finished, others begin elsewhere."""
    server = EchoServer([("grpc.max_connection_age_ms", 20)])
    try:
        load = _closed(_target(server.address), 2000, users=4)
        records = load.run()
    finally:
        server.end()
    assert len(records) >= 2000
    assert (records.kind == 0).mean() > 0.9
    assert set(records.kinds) <= {"UNAVAILABLE"}
    assert not load.generator.gave_up


def test_queries_take_turns_through_the_requests(echo):
    _closed(_target(echo.address, b"a", b"b", b"c"), 9).run()
    assert echo.requests == [b"a", b"b", b"c"] * 3


def test_a_server_is_told_the_deadline(echo):
    _closed(_target(echo.address, timeout_ns=_MINUTE_NS), 1).run()
    assert 0 < echo.remaining_s[0] <= 60


@pytest.mark.parametrize("size", [0, 1, 16_384, 600_000, 5_000_000])
def test_messages_of_any_size_go_both_ways(echo, size):
    message = np.random.default_rng(size).bytes(size)
    records = _closed(_target(echo.address, message), 4, users=2, compares=True).run()
    assert records.kinds == ()
    assert all(request == message for request in echo.requests)


def test_several_threads_share_users_and_counts(echo):
    load = _closed(_target(echo.address), 40, users=5, threads=3)
    records = load.run()
    assert len(records) == len(echo.requests) == load.count >= 40
    assert (np.diff(records.intended_ns) >= 0).all()
    assert (load.generator.threads, load.generator.connections) == (3, 5)


def test_statuses_are_counted_by_name_with_what_was_said(echo):
    async def refuse(request, context):
        if len(echo.requests) % 2:
            return request
        await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "too much: 100 % full")

    echo.answer = refuse
    records = _closed(_target(echo.address), 20).run()
    assert records.is_kind("RESOURCE_EXHAUSTED").sum() == 10
    assert records.said() == {"RESOURCE_EXHAUSTED": "too much: 100 % full"}


def test_a_method_that_is_not_there_is_unimplemented(echo):
    target = _target(echo.address)
    headers = [
        (k, v.replace("Infer", "Guess", 1) if k == ":path" else v) for k, v in target.headers
    ]
    records = _closed(NativeTarget(target.address, target.requests, headers), 3).run()
    assert records.is_kind("UNIMPLEMENTED").all()


@pytest.mark.parametrize("compares", [False, True])
def test_answers_that_differ_from_the_first_are_errors_if_asked(echo, compares):
    async def count(request, context):
        return request + bytes([len(echo.requests) == 5])

    echo.answer = count
    records = _closed(_target(echo.address), 10, compares=compares).run()
    assert records.is_kind("DIFFERENT_ANSWER").sum() == compares


def test_answers_to_different_requests_may_differ(echo):
    records = _closed(_target(echo.address, b"a", b"bb"), 10, users=4, compares=True).run()
    assert records.kinds == ()


def test_the_warm_up_is_sent_but_not_measured(echo):
    records = _closed(_target(echo.address), 5, warmup_ns=50_000_000).run()
    assert len(echo.requests) == len(records) > len(records.measured()) >= 5


def test_latency_counts_from_the_intended_time_while_a_server_stalls(echo):
    """It answers nothing until the last query has come, which left when it was meant to."""
    offsets_ns = [k * 1_000_000 for k in range(50)]
    everybody_is_here = asyncio.Event()

    async def stall(request, context):
        if len(echo.requests) == len(offsets_ns):
            everybody_is_here.set()
        await everybody_is_here.wait()
        return request

    echo.answer = stall
    records = _open(_target(echo.address), offsets_ns).run()
    assert list(records.intended_ns - records.intended_ns[0]) == offsets_ns
    assert (records.sent_ns >= records.intended_ns).all()
    latency_ns = records.done_ns - records.intended_ns
    assert (latency_ns >= offsets_ns[-1] - np.array(offsets_ns)).all()
    assert not records.kind.any()


def test_what_is_not_answered_in_time_is_counted_and_what_is_too_much_not_sent(echo):
    async def never(request, context):
        await asyncio.Event().wait()

    echo.answer = never
    target = _target(echo.address, timeout_ns=1_000_000_000)
    records = _open(target, [0, 1000, 2000, 3000], max_outstanding=3).run()
    assert records.is_kind("DEADLINE_EXCEEDED").sum() == 3
    assert list(records.is_kind(OVERFLOW)) == [False, False, False, True]
    assert (records.done_ns - records.sent_ns)[:3].min() >= 1_000_000_000


def test_a_closed_loop_goes_on_after_deadlines(echo):
    async def first_hangs(request, context):
        if len(echo.requests) == 1:
            await asyncio.Event().wait()
        return request

    echo.answer = first_hangs
    records = _closed(_target(echo.address, timeout_ns=1_000_000_000), 5, connections=1).run()
    assert list(records.is_kind("DEADLINE_EXCEEDED"))[:1] == [True]
    assert (records.kind == 0).sum() >= 1


def test_a_server_that_ends_midway_is_counted_as_unavailable(echo):
    async def end_at_ten(request, context):
        if len(echo.requests) == 10:
            threading.Thread(target=echo.end).start()
        return request

    echo.answer = end_at_ten
    records = _closed(_target(echo.address), 24, users=4).run()
    errors = {kind: int(records.is_kind(kind).sum()) for kind in records.kinds}
    assert len(records) >= 24
    assert errors["UNAVAILABLE"] >= 4
    assert set(errors) <= {"UNAVAILABLE", "CANCELLED"}
    assert (records.kind == 0).sum() >= 9


def test_a_server_that_comes_back_is_asked_again(echo):
    """The first connection is closed when a call is under way, the second one answers."""
    is_asked = threading.Event()

    async def first_hangs(request, context):
        if len(echo.requests) == 1:
            is_asked.set()
            await asyncio.Event().wait()
        return request

    def talk(connection, number):
        _pass_on(connection, echo.address, is_asked if number == 1 else None)  # 0 is a probe

    echo.answer = first_hangs
    server = ScriptedServer(talk)
    try:
        records = _closed(_target(server.address), 5).run()
    finally:
        server.end()
    assert records.is_kind("UNAVAILABLE")[0]
    assert not records.kind[1:].any()


def test_a_server_that_is_connected_to_but_never_speaks_again_is_given_up(echo, monkeypatch):
    """Its socket still listens, as of a child that has inherited it; queries have a minute."""
    monkeypatch.setattr(native_load, "PATIENCE_NS", 1_000_000_000)
    server = ScriptedServer(_once(echo))
    try:
        records = _closed(_target(server.address), 5).run()
    finally:
        server.end()
    assert list(records.is_kind("UNAVAILABLE")) == [False, True, True]


def test_a_fed_run_ends_when_its_server_has_gone(echo, monkeypatch):
    monkeypatch.setattr(native_run, "FED_PATIENCE_NS", 1_000_000_000)
    server = ScriptedServer(_once(echo))
    try:
        with _feed(_target(server.address)) as feed:
            feed.ask(0)
            assert feed.take() == [(0, True)]
            for _ in range(3):
                feed.ask(0)
            ended = [one for some in iter(feed.take, []) for one in some]
            loss = feed.loss
        del feed  # and with it its connections
    finally:
        server.end()
    assert (1, False) in ended
    assert not any(is_ok for _, is_ok in ended)
    assert loss.reason.startswith(f"the server at {HostPort(*server.address)} went away: ")
    assert (loss.records.kind == 0).sum() == 1


def test_a_fed_run_ends_when_its_server_says_nothing_until_a_query_is_out_of_time(
    echo, monkeypatch
):
    monkeypatch.setattr(native_run, "FED_PATIENCE_NS", 10_000_000)

    async def never(request, context):
        await asyncio.Event().wait()

    echo.answer = never
    with _feed(_target(echo.address, timeout_ns=50_000_000)) as feed:
        feed.ask(0)
        assert [one for some in iter(feed.take, []) for one in some] == [(0, False)]
        assert "it said nothing until queries ran out of time" in feed.loss.reason


def test_a_fed_run_goes_on_while_its_server_answers_other_queries(echo, monkeypatch):
    """The first one is never answered, but those beside it are, until it is out of time."""
    monkeypatch.setattr(native_run, "FED_PATIENCE_NS", 1_000_000_000)

    async def first_hangs(request, context):
        if len(echo.requests) == 1:
            await asyncio.Event().wait()
        return request

    echo.answer = first_hangs
    with _feed(_target(echo.address, timeout_ns=1_500_000_000)) as feed:
        feed.ask(0)
        ended, asked = [], 1
        while (0, False) not in ended:
            feed.ask(0)
            ended += feed.take()
            asked += 1
        feed.finish()
        ended += [one for some in iter(feed.take, []) for one in some]
        assert feed.loss is None
    assert len(ended) == asked
    assert [number for number, is_ok in ended if not is_ok] == [0]


def _feed(target):
    return native_run.feed_natively(target, TransportParams(connections=1), bytes, keeps=False)


def _once(echo):
    """Passes on what is said until a second query comes; who connects anew hears nothing."""
    is_enough = threading.Event()

    async def answer(request, context):
        if len(echo.requests) > 1:
            is_enough.set()
            await asyncio.Event().wait()
        return request

    def talk(connection, number):
        if number == 1:  # 0 is the probe of the address
            _pass_on(connection, echo.address, is_enough)
        else:
            _drain(connection, number)

    echo.answer = answer
    return talk


def _pass_on(connection, address, is_over=None):
    """Both ways, until it is over or one side ends."""
    with socket.create_connection(address) as behind:
        pairs = ((connection, behind), (behind, connection))
        ends = [threading.Thread(target=_pump, args=pair) for pair in pairs]
        for end in ends:
            end.start()
        if is_over is not None:
            is_over.wait()
            for side in (connection, behind):
                side.shutdown(socket.SHUT_RDWR)
        for end in ends:
            end.join()


def _pump(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        return


@pytest.mark.parametrize(
    "said",
    [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0" * 100, b""],
    ids=["HTTP/1.1", "zeros", "nothing"],
)
def test_peers_that_do_not_speak_http2_are_refused(said):
    def talk(connection, number):
        connection.sendall(said)
        connection.shutdown(socket.SHUT_WR)
        _drain(connection, number)  # else what it has not read resets the connection

    server = ScriptedServer(talk)
    try:
        with pytest.raises(TargetError, match=r"closed the connection|does not speak HTTP/2"):
            _closed(_target(server.address), 2, users=2)
    finally:
        server.end()


def test_peers_that_say_nothing_are_not_waited_for_for_ever(monkeypatch):
    monkeypatch.setattr(native_load, "CONNECT_NS", 100_000_000)
    server = ScriptedServer(_drain)
    try:
        with pytest.raises(TargetError, match="it took 0 of 3 connections in time"):
            _closed(_target(server.address), 2, users=3)
    finally:
        server.end()


def _drain(connection, number):
    while connection.recv(65536):
        continue


def test_where_nobody_listens_nothing_is_measured():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        target = _target(probe.getsockname())
    with pytest.raises(TargetError, match=r"cannot reach a server at 127.0.0.1:\d+: Connection"):
        _closed(target, 1)


def test_a_run_can_be_stopped_from_outside(echo):
    async def never(request, context):
        load.stop()
        await asyncio.Event().wait()

    echo.answer = never
    load = _closed(_target(echo.address), 100, users=2)
    assert len(load.run()) == 0


def test_a_load_runs_once(echo):
    load = _closed(_target(echo.address), 1)
    load.run()
    with pytest.raises(RuntimeError, match="a load runs once"):
        load.run()


def test_the_generator_says_how_busy_it_was(echo):
    load = _closed(_target(echo.address), 50)
    load.run()
    generator = load.generator
    assert 0 < generator.cpu_share <= 1
    assert 0 < generator.busy_share <= 1
    assert str(generator) == "native, 1 thread, 1 connection"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"connections": 0}, "connections must be >= 1"),
        ({"requests": [(b"x", 0, [])]}, "timeout_ns must be > 0"),
        ({"turns": [1]}, "a turn is of no request"),
        ({"requests": []}, "there must be a request"),
    ],
)
def test_bad_arguments_are_refused_where_they_enter(echo, wrong, message):
    from surplus.loadgen._native import Load

    host, port = echo.address
    right = {
        "host": host,
        "port": port,
        "is_grpc": True,
        "requests": [(b"x", 1, [])],
        "turns": [],
        "connections": 1,
        "connect_ns": _MINUTE_NS,
        "patience_ns": _MINUTE_NS,
        "is_compared": False,
        "is_kept": False,
    }
    with pytest.raises(ValueError, match=message):
        Load(**right | wrong)


def test_the_plan_of_an_open_loop_is_as_long_as_the_load():
    load = LoadgenParams(min_duration_ns=300, min_count=0, warmup_ns=250)
    assert list(planned(iter(range(0, 10_000, 100)), load)) == [0, 100, 200, 300, 400, 500]
