"""Solvers' processes that do job after job: blocks by the hundred are solved in milliseconds each,
and a process takes a second to start.
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue

from surplus.milp.solvers.job import MANY, SolverJob, SolverReport
from surplus.milp.solvers.process import WORKER, JobReports, drain, kill, start, watched


class SolverPool:
    """Some processes; as many threads may ask at once.

    Parameters
    ----------
    count : int
        Processes, >= 1; each is started when it is first needed.
    worker : sequence of str
        Its command.
    """

    def __init__(self, count: int, worker: Sequence[str] = (*WORKER, MANY)) -> None:
        self._servers = [_Server(worker) for _ in range(count)]
        self._free: SimpleQueue[_Server] = SimpleQueue()
        for server in self._servers:
            self._free.put(server)

    def run(
        self, job: SolverJob, progress: Callable[[SolverReport], None], *, grace_s: float
    ) -> SolverReport:
        """Solve a job, as ``run_job``; waits for a process that is free."""
        server = self._free.get()
        try:
            return server.run(job, progress, grace_s)
        finally:
            self._free.put(server)

    def close(self) -> None:
        """End all processes, whatever they are at: their jobs fail."""
        for server in self._servers:
            server.stop()
        idle = [self._free.get() for _ in self._servers]
        for server in idle:
            server.end()
            self._free.put(server)


class _Server:
    """One process, started anew after it died or was killed."""

    def __init__(self, worker: Sequence[str]) -> None:
        self._worker = worker
        self._process: subprocess.Popen[str] | None = None
        self._stopped = False
        # Nothing is started while it is being stopped.
        self._lock = threading.Lock()
        self._words: list[str] = []
        self._errors = threading.Thread()

    def run(
        self, job: SolverJob, progress: Callable[[SolverReport], None], grace_s: float
    ) -> SolverReport:
        """Solve a job; where the process dies at it, the report says why."""
        reports = JobReports(progress)
        process = self._started()
        if process is None:
            return reports.conclude(1, "it was ended")
        try:
            with watched(process, job, grace_s) as expired:
                if _attend(process, job, reports):
                    return reports.conclude(0, "")
        except BaseException:
            self.end()
            raise
        words = self.end()
        return reports.conclude(process.returncode or 1, expired.words or words)

    def stop(self) -> None:
        """Kill the process, and start no other."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                kill(self._process)

    def end(self) -> str:
        """Kill the process if there is one; returns what it said last."""
        process, self._process = self._process, None
        if process is None:
            return ""
        kill(process)
        self._errors.join()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()
        process.wait()
        return self._words[-1] if self._words else ""

    def _started(self) -> subprocess.Popen[str] | None:
        with self._lock:
            if self._process is None and not self._stopped:
                self._start()
            return self._process

    def _start(self) -> None:
        self._process = process = start(self._worker)
        words: list[str] = []
        self._words = words
        self._errors = threading.Thread(target=drain, args=(process.stderr, words), daemon=True)
        self._errors.start()


def _attend(process: subprocess.Popen[str], job: SolverJob, reports: JobReports) -> bool:
    """Feed a job and read its reports; whether it was done when they ended."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(job.to_json() + "\n")
        process.stdin.flush()
    except BrokenPipeError:
        return False
    for line in process.stdout:
        if not line.strip():
            return True
        reports.take(line)
    return False
