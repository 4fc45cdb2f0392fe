"""A server in a process of its own, from its start to its end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.infrastructure.process_tree import tree_bytes
from bench.serving.loads import Asking, Turn, target_of, turn
from bench.serving.payloads import Payload
from surplus.loadgen.address import HostPort
from surplus.loadgen.closed_loop import ClosedLoopParams
from surplus.loadgen.errors import TargetError
from surplus.loadgen.native_load import NativeLoad
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
    ) -> None:
        self._ports, self._payloads, self._log = ports, payloads, log
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
            for protocol in ports:
                for name in payloads:
                    self._await_answer(protocol, name)
        except BaseException:
            self.end()
            raise
        self.at_rest_bytes = tree_bytes(self._process.pid)

    def takes(self, load: Asking) -> bool:
        """Whether it can be asked so."""
        return load.protocol in self._ports and load.payload in self._payloads

    def turn(self, load: Asking, seconds: float) -> Turn:
        """Of one load that it takes."""
        address = HostPort("127.0.0.1", self._ports[load.protocol])
        target = target_of(address, load.protocol, self._payloads[load.payload])
        return turn(self._process.pid, target, load.clients, seconds)

    def end(self) -> None:
        """It may finish what it does."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(timeout=_ENDS_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _await_answer(self, protocol: str, name: str) -> None:
        until = time.monotonic() + _STARTS_S
        while (reason := self._refusal(protocol, name)) is not None:
            if self._process.poll() is not None or time.monotonic() > until:
                said = " | ".join(self._log.read_text(errors="replace").splitlines()[-3:])
                raise RuntimeError(
                    f"no answer of {name} over {protocol}: {reason}; it said: {said}"
                )
            time.sleep(_PAUSE_S)

    def _refusal(self, protocol: str, name: str) -> str | None:
        target = target_of(
            HostPort("127.0.0.1", self._ports[protocol]), protocol, self._payloads[name]
        )
        once = ClosedLoopParams(LoadgenParams(min_duration_ns=0, min_count=1))
        try:
            records = NativeLoad(target, once).run()
        except TargetError as error:
            return str(error)
        return None if not records.kind.any() else f"{records.kinds}: {records.messages}"


def free_port() -> int:
    """One that nobody has at this moment."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
