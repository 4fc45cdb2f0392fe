"""Signals reach a caller that waits for a long query: Ctrl-C, or whatever a handler raises."""

import signal
import time

import pytest

core = pytest.importorskip("surplus.engine._core")

HOUR_NS = 3_600_000_000_000
SOON_S = 0.05


class Interrupted(Exception):
    """Raised by the handler."""


def _raise(*_):
    raise Interrupted


@pytest.fixture
def alarm():
    """Lets a signal come shortly after the test began to wait, and a handler take it."""
    before = signal.getsignal(signal.SIGALRM)

    def set_alarm(handler):
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, SOON_S)

    yield set_alarm
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def machine():
    emulated = core.DeviceOptions(kind="emulated", name="gpu")
    machine = core.Machine([core.DeviceOptions(kind="cpu", name="cpu", lanes=2), emulated])
    yield machine
    machine.close()


def _plan(machine, device, spin_ns):
    builder = core.PlanBuilder(machine)
    builder.add_work("long", device, spin_ns=spin_ns)
    return builder.build()


@pytest.mark.parametrize("timeout_s", [-1.0, 3_600.0])
def test_a_signal_ends_a_run(machine, alarm, timeout_s):
    plan = _plan(machine, 1, HOUR_NS)
    alarm(_raise)
    with pytest.raises(Interrupted):
        plan.run([], timeout_s)
    while machine.runs_in_flight:  # its end comes with the device's next look
        pass


@pytest.mark.parametrize("timeout_s", [-1.0, 3_600.0])
def test_a_signal_ends_a_wait_but_not_the_run(machine, alarm, timeout_s):
    run = _plan(machine, 1, HOUR_NS).submit([])
    alarm(_raise)
    with pytest.raises(Interrupted):
        run.wait(timeout_s)
    assert not run.done
    run.cancel()
    assert run.wait()
    assert run.status == "cancelled"


def test_signals_are_handled_while_a_lane_computes(machine, alarm):
    """The caller would be the first to help, and then could not handle any."""
    run = _plan(machine, 0, 2_000_000_000).submit([], traced=True)
    seen = []
    alarm(lambda *_: seen.append(time.monotonic_ns()))
    assert run.wait()
    assert run.status == "ok"
    assert len(seen) == 1
    assert seen[0] < run.submitted_ns + int(run.spans()[0, 4])
