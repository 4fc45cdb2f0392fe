"""Runs a solver in a process of its own and outlives whatever happens there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from surplus.milp.solvers.job import SolverJob, SolverReport, SolverStatus

GRACE_S = 5.0
"""How long after its time limit a solver may take at most to stop before it is killed."""

WORKER = (sys.executable, "-m", "surplus.milp.solvers.worker")

Progress = Callable[[SolverReport], None]


@dataclass
class _Reports:
    """The last report and the best bound of a process."""

    progress: Progress
    last: SolverReport | None = None
    bounds: list[float] = field(default_factory=list)

    def take(self, line: str) -> None:
        report = SolverReport.from_json(line)
        if report.bound is not None:
            self.bounds.append(report.bound)
        self.last = report
        self.progress(report)


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
    process = subprocess.Popen(
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
    with process:
        reports = _Reports(progress)
        try:
            words = _attend(process, job, reports, grace_s)
        finally:
            _kill(process)
    return _conclude(reports, process.returncode, words)


def _attend(
    process: subprocess.Popen[str], job: SolverJob, reports: _Reports, grace_s: float
) -> str:
    """Feed the job, read reports until the end or the deadline; returns what it said last."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    words: list[str] = []
    errors = threading.Thread(target=_drain, args=(process.stderr, words), daemon=True)
    errors.start()
    # Whether time ran out is the watchdog's to say: a clock of ours may disagree by a moment.
    expired = threading.Event()
    watchdog = threading.Timer(job.time_limit_s + grace_s, _expire, (process, expired))
    watchdog.daemon = True
    watchdog.start()
    try:
        try:
            process.stdin.write(job.to_json())
            process.stdin.close()
        except BrokenPipeError:
            pass
        for line in process.stdout:
            reports.take(line)
        process.wait()
    finally:
        watchdog.cancel()
    errors.join()
    if expired.is_set():
        return f"killed {grace_s:g} s after its time limit of {job.time_limit_s:g} s"
    return words[-1] if words else ""


def _drain(stream: object, words: list[str]) -> None:
    """Keep the last lines of stderr: the pipe must not fill, and they may say why."""
    for line in stream:  # type: ignore[attr-defined]
        if line.strip():
            words[:] = [*words[-9:], line.strip()]


def _conclude(reports: _Reports, code: int, words: str) -> SolverReport:
    bound = max(reports.bounds, default=None)
    last = reports.last
    if last is not None and code == 0:
        return replace(last, bound=bound)
    if last is not None and last.status is SolverStatus.FAILED:
        return last
    cause = words or f"exit status {code}"
    return SolverReport(SolverStatus.FAILED, bound, message=f"the solver's process failed: {cause}")


def _expire(process: subprocess.Popen[str], expired: threading.Event) -> None:
    expired.set()
    _kill(process)


def _kill(process: subprocess.Popen[str]) -> None:
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
