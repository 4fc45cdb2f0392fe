"""``python -m bench attack_server``: what each attack makes a server hold, and who else waits.

Starts ``engine serve`` with a memory limit, attacks it (``attacks.py``; words name some attacks),
and shows for each how it was answered, the most memory that the process held, when nine tenths of
that were given back, how long health checks over HTTP and gRPC waited at the worst, how many lines
were logged, and how many descriptors more are open afterwards. Exits with 1 where the server died.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import onnx
import psutil

from bench.infrastructure import result_file
from bench.safety.attacks import ATTACKS, models
from bench.safety.target import Target

MIB = 1 << 20
_BACK_S = 30
_PROBES = {
    "health ms": """
import http.client, sys, time
address = sys.argv[1]
connection = http.client.HTTPConnection(address, timeout=120)
while True:
    start = time.monotonic_ns()
    connection.request("GET", "/v2/health/live")
    connection.getresponse().read()
    print(time.monotonic_ns() - start, flush=True)
    time.sleep(0.02)
""",
    "gRPC health ms": """
import grpc, sys, time
channel = grpc.insecure_channel(sys.argv[1])
check = channel.unary_unary("/grpc.health.v1.Health/Check")
while True:
    start = time.monotonic_ns()
    check(b"", timeout=120)
    print(time.monotonic_ns() - start, flush=True)
    time.sleep(0.02)
""",
}


class Attacked:
    """A server, watched.

    Parameters
    ----------
    limit : str
        Of memory, as ``--memory-limit`` has it; empty: none is given.
    words : sequence of str
        Further ones of ``engine serve``.
    served : iterable of (str, ModelProto), optional
        Models by name; those that the attacks ask.
    """

    def __init__(
        self,
        folder: Path,
        limit: str,
        words: Sequence[str],
        served: Iterable[tuple[str, Any]] | None = None,
    ) -> None:
        for name, model in models() if served is None else served:
            path = folder / "models" / name / "1" / "model.onnx"
            path.parent.mkdir(parents=True, exist_ok=True)
            onnx.save(model, path)
        command = [sys.executable, "-m", "surplus.engine.cli.main", "serve", str(folder / "models")]
        options = ["--port", "0", "--http-port", "0", "--cache", str(folder / "cache"), *words]
        if limit:
            options += ["--memory-limit", limit]
        self.log = folder / "log"
        with self.log.open("w") as log:
            self._process = subprocess.Popen(
                [*command, *options], stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self._process.stdout is not None
        said = "".join(self._process.stdout.readline() for _ in range(3))
        addresses = re.findall(r"127\.0\.0\.1:\d+", said)
        if len(addresses) < 2:
            self._process.kill()
            self._process.communicate()
            raise RuntimeError(f"the server did not start: {said}{self.log.read_text()}")
        self.target = Target(addresses[0], addresses[-1])
        self._memory = psutil.Process(self._process.pid)
        self.most_bytes = 0

    @property
    def is_alive(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    @property
    def resident_bytes(self) -> int:
        """What the process holds of the machine's memory; 0 once it has ended."""
        return int(self._memory.memory_info().rss) if self.is_alive else 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def kill(self) -> None:
        """End it as a machine without memory does."""
        self._process.kill()

    def stop(self) -> int:
        """Ask it to end, and wait for that; its exit code."""
        self._process.terminate()
        return self._process.wait()

    def attack(self, name: str) -> dict[str, Any]:
        """One row."""
        before, log_before = self.resident_bytes, self.log.stat().st_size
        open_before = self._memory.num_fds()
        ended = threading.Event()
        most = [before]

        def watch() -> None:
            while not ended.wait(0.005):
                most[0] = max(most[0], self.resident_bytes)

        watching = threading.Thread(target=watch)
        watching.start()
        asked = dict(zip(_PROBES, (self.target.http, self.target.grpc), strict=True))
        probes = {
            name: subprocess.Popen(
                [sys.executable, "-c", program, asked[name]], stdout=subprocess.PIPE, text=True
            )
            for name, program in _PROBES.items()
        }
        time.sleep(1)
        start = time.monotonic()
        outcomes = ATTACKS[name](self.target)
        took_s = time.monotonic() - start
        back_s = self._given_back(before, most[0])
        ended.set()
        watching.join()
        waited_ms = {name: _longest_ms(probe) for name, probe in probes.items()}
        return {
            "attack": name,
            "answers": ", ".join(f"{count} {what}" for what, count in outcomes.items()),
            "s": round(took_s, 2),
            "before MiB": before // MIB,
            "most MiB": most[0] // MIB,
            "90 % back in s": back_s,
            **waited_ms,
            "files left": self._memory.num_fds() - open_before if self.is_alive else None,
            "log lines": self.log.read_bytes()[log_before:].count(b"\n"),
            "alive": self.is_alive,
        }

    def _given_back(self, before: int, most: int) -> float | str:
        start = time.monotonic()
        while time.monotonic() - start < _BACK_S:
            if self.resident_bytes <= most - 0.9 * (most - before) + 8 * MIB:
                return round(time.monotonic() - start, 1)
            time.sleep(0.1)
        return f"> {_BACK_S}, {self.resident_bytes // MIB} MiB"


def _longest_ms(probe: subprocess.Popen[str]) -> int:
    probe.kill()
    return round(max(map(int, probe.communicate()[0].split()), default=0) / 1e6)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench attack_server")
    parser.add_argument("attacks", nargs="*", help=f"of {', '.join(ATTACKS)}")
    parser.add_argument("--limit", default="1GiB", help="of the server; empty: none is given")
    parser.add_argument("--store", action="store_true", help="the rows, in bench/results")
    parser.add_argument("--option", action="append", default=[], help="further, of engine serve")
    args = parser.parse_args(arguments)
    if args.store and (changed := result_file.uncommitted()):
        parser.error(f"results say of which commit they are, and {changed[0]} is not committed")
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        names = args.attacks or list(ATTACKS)
        while names:
            with Attacked(Path(folder), args.limit, args.option) as server:
                while names and server.is_alive:
                    rows.append(server.attack(names.pop(0)))
                    print(rows[-1], flush=True)
                    if not server.is_alive:
                        print(server.log.read_text()[-600:], flush=True)
    result_file.show("attack_server", rows)
    if args.store:
        result_file.write("attack_server", {"memory_limit": args.limit}, rows)
    return int(not all(row["alive"] for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
