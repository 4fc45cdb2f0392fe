"""Runs a solver in a process of its own and outlives whatever happens there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from surplus.milp.solvers.job import SolverJob, SolverReport, SolverStatus
from surplus.placement.memory_words import bytes_in_words
from surplus.placement.process_memory import resident_bytes

GRACE_S = 5.0
"""How long after its time limit a solver may take at most to stop before it is killed."""

WORKER = (sys.executable, "-m", "surplus.milp.solvers.worker")

_LOOK_S = 0.1
"""How often a process's memory is looked at, where that is limited."""

Progress = Callable[[SolverReport], None]


class AskSolver(Protocol):
    """Lets a solver's process do a job, as ``run_job``."""

    def __call__(self, job: SolverJob, progress: Progress, *, grace_s: float) -> SolverReport:
        """What it found."""
        ...


@dataclass
class JobReports:
    """The last report and the best bound of a job."""

    progress: Progress
    last: SolverReport | None = None
    bounds: list[float] = field(default_factory=list)

    def take(self, line: str) -> None:
        """One line of a solver's process."""
        report = SolverReport.from_json(line)
        if report.bound is not None:
            self.bounds.append(report.bound)
        self.last = report
        self.progress(report)

    def conclude(self, code: int, words: str) -> SolverReport:
        """What a job came to whose process exited with ``code``, or has gone on to the next."""
        bound = max(self.bounds, default=None)
        if self.last is not None and code == 0:
            return replace(self.last, bound=bound)
        if self.last is not None and self.last.status is SolverStatus.FAILED:
            return self.last
        cause = words or f"exit status {code}"
        return SolverReport(
            SolverStatus.FAILED, bound, message=f"the solver's process failed: {cause}"
        )


def run_job(
    job: SolverJob,
    progress: Progress = lambda report: None,
    worker: Sequence[str] = WORKER,
    grace_s: float = GRACE_S,
) -> SolverReport:
    """Solve a job in a subprocess.

    A solver that crashes or that has to be killed ``grace_s`` after the job's time limit yields
    a report with status FAILED and the best bound that it told before.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C; the solver's process is gone by then.
    """
    process = start(worker)
    with process:
        reports = JobReports(progress)
        try:
            words = _attend(process, job, reports, grace_s)
        finally:
            kill(process)
    return reports.conclude(process.returncode, words)


def start(worker: Sequence[str]) -> subprocess.Popen[str]:
    """A solver's process, with pipes."""
    return subprocess.Popen(
        worker,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env=_environment(),
        # A group of its own: Ctrl-C reaches only us, and a kill reaches the solver's children.
        start_new_session=True,
    )


def _attend(
    process: subprocess.Popen[str], job: SolverJob, reports: JobReports, grace_s: float
) -> str:
    """Feed the job, read reports until the end or the deadline; returns what it said last."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    words: list[str] = []
    errors = threading.Thread(target=drain, args=(process.stderr, words), daemon=True)
    errors.start()
    with watched(process, job, grace_s) as expired:
        try:
            process.stdin.write(job.to_json())
            process.stdin.close()
        except BrokenPipeError:
            pass
        for line in process.stdout:
            reports.take(line)
        process.wait()
    errors.join()
    return expired.words or (words[-1] if words else "")


@dataclass
class Expired:
    """What happened to a process that did not stop."""

    words: str = ""


@contextmanager
def watched(process: subprocess.Popen[str], job: SolverJob, grace_s: float) -> Iterator[Expired]:
    """Kill a process that takes longer or more memory than a job may, and say so."""
    # Whether time ran out is the watchdog's to say: a clock of ours may disagree by a moment.
    expired = Expired()

    def expire() -> None:
        expired.words = f"killed {grace_s:g} s after its time limit of {job.time_limit_s:g} s"
        kill(process)

    watchdog = threading.Timer(job.time_limit_s + grace_s, expire)
    watchdog.daemon = True
    watchdog.start()
    ended = threading.Event()
    if job.memory_bytes:
        looks = (process, job.memory_bytes, expired, ended)
        threading.Thread(target=_watch_memory, args=looks, daemon=True).start()
    try:
        yield expired
    finally:
        watchdog.cancel()
        ended.set()


def _watch_memory(
    process: subprocess.Popen[str], limit_bytes: int, expired: Expired, ended: threading.Event
) -> None:
    while not ended.wait(_LOOK_S):
        if resident_bytes(process.pid) > limit_bytes:
            expired.words = f"killed at its memory limit of {bytes_in_words(limit_bytes)}"
            kill(process)
            return


def drain(stream: object, words: list[str]) -> None:
    """Keep the last lines of stderr: the pipe must not fill, and they may say why."""
    for line in stream:  # type: ignore[attr-defined]
        if line.strip():
            words[:] = [*words[-9:], line.strip()]


def kill(process: subprocess.Popen[str]) -> None:
    """End a process and its children, if it has not ended."""
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return


def _environment() -> dict[str, str]:
    """Ours, with the folder that ``milp`` was imported from on the path."""
    root = str(Path(__file__).resolve().parents[2])
    path = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": root if not path else f"{root}{os.pathsep}{path}"}
