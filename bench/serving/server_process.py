"""A server in a process of its own, from its start to its end."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from itertools import product
from pathlib import Path

from bench.infrastructure.process_tree import tree_bytes
from bench.serving.loads import Asking, RestRequest, Turn, target_of, turn
from bench.serving.payloads import Payload
from surplus.loadgen.address import HostPort
from surplus.loadgen.clients.rest_request import rest_request
from surplus.loadgen.closed_loop import ClosedLoopParams
from surplus.loadgen.errors import TargetError
from surplus.loadgen.native_load import NativeLoad, NativeTarget
from surplus.loadgen.params import LoadgenParams

_STARTS_S = 180.0
_ENDS_S = 40.0
_PAUSE_S = 0.1


class ServerProcess:
    """Started by a command, asked over the protocols that it has.

    Parameters
    ----------
    command : sequence of str or Path
    ports : mapping of str to int
        On this machine, by protocol.
    payloads : mapping
        What it serves, by name.
    log : Path
        For what it says.
    environment : mapping, optional
        Instead of ours.
    rest : callable, optional
        Makes its requests over HTTP, if they are not of binary tensors.

    Raises
    ------
    RuntimeError
        If it does not answer each payload over each protocol; the last lines of its log.
    """

    def __init__(
        self,
        command: Sequence[str | Path],
        ports: Mapping[str, int],
        payloads: Mapping[str, Payload],
        log: Path,
        environment: Mapping[str, str] = os.environ,
        rest: RestRequest = rest_request,
    ) -> None:
        self._ports, self._payloads, self._log, self._rest = ports, payloads, log, rest
        with log.open("w") as out:
            self._process = subprocess.Popen(
                [str(word) for word in command],
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,  # our Ctrl-C is not the server's
            )
        try:
            for protocol, name in product(ports, payloads):
                self._await_answer(Asking(name, protocol, 1))
            self._shares_memory = "grpc" in ports and not self._refusal(
                Asking(next(iter(payloads)), "grpc", 1, shares_memory=True)
            )
        except BaseException:
            self.end()
            raise
        self.at_rest_bytes = tree_bytes(self.pid)

    @property
    def pid(self) -> int:
        """Of what was started."""
        return self._process.pid

    def speaks(self, protocol: str) -> bool:
        """Whether it has a port for it."""
        return protocol in self._ports

    def port(self, protocol: str) -> int:
        """Of a protocol that it speaks."""
        return self._ports[protocol]

    def takes(self, load: Asking) -> bool:
        """Whether it can be asked so."""
        is_known = self.speaks(load.protocol) and load.payload in self._payloads
        return is_known and (self._shares_memory or not load.shares_memory)

    def turn(self, load: Asking, seconds: float) -> Turn:
        """Of one load that it takes."""
        with self._target(load) as target:
            return turn(self.pid, target, load.clients, seconds)

    def _target(self, load: Asking) -> AbstractContextManager[NativeTarget]:
        address = HostPort("127.0.0.1", self._ports[load.protocol])
        return target_of(address, load, self._payloads[load.payload], self._rest)

    def end(self) -> None:
        """It may finish what it does; what it started and left behind may not."""
        self._process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=_ENDS_S)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _await_answer(self, load: Asking) -> None:
        until = time.monotonic() + _STARTS_S
        while (reason := self._refusal(load)) is not None:
            if self._process.poll() is not None or time.monotonic() > until:
                said = " | ".join(self._log.read_text(errors="replace").splitlines()[-3:])
                asked = f"{load.payload} over {load.protocol}"
                raise RuntimeError(f"no answer of {asked}: {reason}; it said: {said}")
            time.sleep(_PAUSE_S)

    def _refusal(self, load: Asking) -> str | None:
        once = ClosedLoopParams(LoadgenParams(min_duration_ns=0, min_count=1))
        try:
            with self._target(load) as target:
                records = NativeLoad(target, once).run()
        except TargetError as error:
            return str(error)
        return None if not records.kind.any() else f"{records.kinds}: {records.messages}"
