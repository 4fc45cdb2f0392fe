"""The processes beside a deployment: who asks, and the route that half of the queries go by."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from urllib.request import urlopen

from bench.chaos.asker import Asking

_ROUTES = re.compile(r"routing .* on (\S+:\d+) \(gRPC")
_METRICS = re.compile(r"metrics: (http://\S+/metrics)")
_ANSWERED = re.compile(r'^surplus_replica_queries_total\{.*outcome="answered".*\} (\S+)$', re.M)
_END_S = 60.0


class RouteProcess:
    """``engine route`` to what a resolver knows.

    Attributes
    ----------
    address : str
        ``HOST:PORT`` of gRPC.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.address = self._metrics = ""
        for line in process.stdout:
            if found := _ROUTES.match(line):
                self.address = found[1]
            if found := _METRICS.match(line):
                self._metrics = found[1]
                break
        if not (self.address and self._metrics):
            raise RuntimeError("engine route has not begun; it says why")

    def answered(self) -> int:
        """Answers that came from its servers."""
        with urlopen(self._metrics, timeout=_END_S) as answer:
            text = answer.read().decode()
        return round(sum(float(value) for value in _ANSWERED.findall(text)))


@contextmanager
def routed(resolver: str, models: Sequence[str]) -> Iterator[RouteProcess]:
    """Route to them, until the end of the block."""
    names = [word for model in models for word in ("--model", model)]
    ports = [word for port in ("--port", "--http-port", "--metrics-port") for word in (port, "0")]
    command = [sys.executable, "-m", "surplus.engine.cli.main", "route", "--resolver", resolver]
    with subprocess.Popen([*command, *names, *ports], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield RouteProcess(process)
        finally:
            process.terminate()


class AskerProcess:
    """``bench.chaos.asker``, from its start to its end.

    Parameters
    ----------
    say : callable
        Told how many queries have ended.
    """

    def __init__(self, asking: Asking, say: Callable[[int], None]) -> None:
        command = [sys.executable, "-m", "bench.chaos.asker", asking.text()]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._say = say
        self._answered: dict[str, int] = {}
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._is_ready = threading.Event()
        self._thread.start()

    def begin(self) -> int:
        """Have it begin now, ns of the monotonic clock; waits until it can.

        Raises
        ------
        RuntimeError
            If it cannot.
        """
        if not self._is_ready.wait(_END_S):
            raise RuntimeError("who asks does not begin")
        begin_ns = time.monotonic_ns()
        assert self._process.stdin is not None
        self._process.stdin.write(f"{begin_ns}\n")
        self._process.stdin.close()
        return begin_ns

    def answered(self) -> dict[str, int]:
        """How many answers came over each way, by the clients' books; waits for the end.

        Raises
        ------
        RuntimeError
            If it did not end well.
        """
        status = self._process.wait()
        self._thread.join()
        if status:
            raise RuntimeError(f"who asks has ended with {status}")
        return self._answered

    def kill(self) -> None:
        """End it, whatever it does."""
        self._process.kill()
        self._process.wait()
        self._thread.join()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._is_ready.set()
                told = json.loads(line)
                if "ended" in told:
                    self._say(told["ended"])
                else:
                    self._answered = told["answered"]
