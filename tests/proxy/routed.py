"""``engine route`` as a process, for tests."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.isolation.served import Serving, until

COMMAND = [sys.executable, "-m", "surplus.engine.cli.main", "route"]


@contextmanager
def routed(*words: str) -> Iterator[Serving]:
    """Route to some servers."""
    command = [*COMMAND, *words, "--port", "0", "--http-port", "0", "--eject", "0.2"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        try:
            serving = Serving(process)
            serving.http_address = serving.wait_for(r"HTTP: http://(\S+)/v2\n")[1]
            serving.address = serving.wait_for(r"routing .* on (\S+) \(gRPC")[1]
            yield serving
        finally:
            process.terminate()


def rest_words(servers: Sequence[Serving]) -> list[str]:
    """Servers by both of their ports."""
    return [f"{one.address}+{one.http_address.rpartition(':')[2]}" for one in servers]


@contextmanager
def frozen(process: subprocess.Popen[str]) -> Iterator[None]:
    """Stop a process until the end of the block.

    One that is told to stop may go on until a thread of it is given a core: so this waits until all
    of them have stopped.
    """
    process.send_signal(signal.SIGSTOP)
    try:
        until(lambda: _states(process) == {"T"})
        yield
    finally:
        process.send_signal(signal.SIGCONT)


def _states(process: subprocess.Popen[str]) -> set[str]:
    found = set()
    for path in Path(f"/proc/{process.pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has ended
            found.add((path / "stat").read_text().rsplit(")", 1)[1].split()[0])
    return found


def get(serving: Serving, path: str) -> str:
    """A document of REST's port."""
    with urllib.request.urlopen(f"http://{serving.http_address}{path}") as answer:
        text: str = answer.read().decode()
        return text


def counted(serving: Serving, name: str) -> dict[tuple[str, str], float]:
    """A metric of replicas, by address and outcome."""
    rows = re.findall(rf"^{name}\{{(.*)\}} (\S+)$", get(serving, "/metrics"), re.MULTILINE)
    found = {}
    for labels, value in rows:
        said = dict(re.findall(r'(\w+)="([^"]*)"', labels))
        found[said["replica"], said.get("outcome", "")] = float(value)
    return found
