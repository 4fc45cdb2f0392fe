"""Processes of one user share the machine's cores by a table, each by its own leave."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from surplus.engine.devices import shared_cores
from surplus.engine.devices.shared_cores import BROKER_VARIABLE, broker_path, share_cores

_WORKER = """
import json, logging, sys, threading
logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(message)s")
from surplus.engine import _core
from surplus.engine.devices.machines import open_machine
from surplus.engine.devices.parsing import parse_devices

machine = open_machine(parse_devices("cpu:1"))
other = open_machine(parse_devices("cpu:1"))
builder = _core.PlanBuilder(machine)
builder.add_work("a long node", 0, spin_ns=20_000_000)
plan = builder.build()
ends = threading.Event()

def work():
    while not ends.is_set():
        plan.submit([]).wait()

worker = threading.Thread(target=work)
for line in sys.stdin:
    if line == "run\\n":
        worker.start()
        print("ok", flush=True)
    elif line == "stop\\n":
        ends.set()
        worker.join()
        print("ok", flush=True)
    elif line == "expect\\n":
        print(json.dumps(_core.expect_asked()), flush=True)
    elif line == "leases\\n":
        print(json.dumps(_core.leases()), flush=True)
    else:
        print(json.dumps([_core.has_joined_broker(), _core.is_sharing_cores()]), flush=True)
"""


class Worker:
    """A process that has opened devices, and does what it is told."""

    def __init__(self, broker: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, BROKER_VARIABLE: broker},
        )

    def tell(self, word: str) -> str:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def ask(self, word: str) -> list:
        found: list = json.loads(self.tell(word))
        return found

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def end(self) -> str:
        """What it logged."""
        return self.process.communicate()[1]


@pytest.fixture
def broker(tmp_path: Path) -> str:
    return str(tmp_path / "broker")


@pytest.fixture
def workers(broker: str) -> Iterator[tuple[Worker, Worker]]:
    both = Worker(broker), Worker(broker)
    yield both
    for worker in both:
        worker.process.kill()
        worker.end()


def test_the_leases_of_one_process_are_seen_by_the_other(workers) -> None:
    one, other = workers
    assert one.ask("state")[0]
    assert other.ask("state") == one.ask("state") == [True, True]
    assert one.tell("run") == "ok"
    while not (found := other.ask("leases")) or not found[0]["computes"]:
        pass  # it may be seen between its ask and its turn
    (lease,) = found
    assert (lease["what"], lease["process"], lease["width"]) == ("a long node", one.process.pid, 1)
    assert lease["is_in_our_space"]
    assert not lease["best_effort"]
    assert one.tell("stop") == "ok"
    assert other.ask("leases") == []


def test_who_expects_queries_that_are_due_is_known_to_the_other(workers) -> None:
    one, other = workers
    assert one.ask("state")[0]
    assert one.tell("expect") == "0"
    assert other.ask("state")[1]
    assert other.tell("expect") == "1"
    assert one.tell("expect") == "1"


def test_what_a_killed_process_leased_is_free(workers) -> None:
    one, other = workers
    assert one.ask("state")[0]
    assert other.ask("state")[1]
    assert one.tell("run") == "ok"
    while not other.ask("leases"):
        pass
    one.kill()
    assert other.ask("leases") == []
    assert other.ask("state") == [True, False]


def test_who_is_told_so_takes_no_part(broker: str) -> None:
    one, without = Worker(broker), Worker("off")
    assert one.ask("state") == [True, False]
    assert without.ask("state") == [False, False]
    assert without.end() == ""
    assert one.end() == ""


def _write_nonsense(path: Path) -> None:
    path.touch(0o600)
    path.write_bytes(b"x" * 99)


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (_write_nonsense, "is damaged: it has 99 bytes"),
        (lambda path: path.mkdir(), "is not a regular file"),
        (lambda path: path.symlink_to("elsewhere"), "is a symbolic link"),
    ],
)
def test_a_file_that_cannot_be_used_is_said_once_and_service_goes_on(broker, spoil, why) -> None:
    spoil(Path(broker))
    worker = Worker(broker)
    assert worker.ask("state") == [False, False]
    assert worker.tell("run") == "ok"
    assert worker.tell("stop") == "ok"
    (line,) = worker.end().splitlines()  # of two machines
    assert line.startswith("WARNING this process shares its cores with others without a plan: ")
    assert f"{broker} {why}" in line


def test_a_refusal_is_said_again_when_it_is_another(tmp_path, monkeypatch, caplog) -> None:
    monkeypatch.setattr(shared_cores, "_REFUSAL", shared_cores._Refusal())
    caplog.set_level(logging.WARNING)
    for name in ("one", "one", "other"):
        (tmp_path / name).mkdir(exist_ok=True)
        monkeypatch.setenv(BROKER_VARIABLE, str(tmp_path / name))
        assert not share_cores()
    assert len(caplog.records) == 2


def test_where_the_table_lies() -> None:
    assert broker_path({BROKER_VARIABLE: "OFF"}) is None
    assert broker_path({BROKER_VARIABLE: "/shared/cores"}) == Path("/shared/cores")
    default = broker_path({})
    assert default == broker_path({"XDG_RUNTIME_DIR": "/run/user/7"})
    assert default is not None
    assert default.parts[-2:] == (f"surplus-{os.geteuid()}", "broker.v1")


def test_without_shared_memory_it_lies_in_the_users_folder(monkeypatch) -> None:
    monkeypatch.setattr(shared_cores, "_SHARED_MEMORY", Path("/none"))
    assert broker_path({"XDG_RUNTIME_DIR": "/run/user/7"}) == Path("/run/user/7/surplus/broker.v1")
    assert broker_path({}) is None
