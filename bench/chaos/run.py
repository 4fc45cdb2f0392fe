"""A run: deploy, ask, do one deed after the other, account for every query."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.chaos.accounts import Span, account_rows, faults, read_endings
from bench.chaos.asker import Asking
from bench.chaos.chaos_load import ChaosLoad
from bench.chaos.deeds import DEEDS, NETWORKED, Course
from bench.chaos.local_stage import staged_here
from bench.chaos.running import AskerProcess, routed
from bench.chaos.setting import NARROW, WIDE
from bench.chaos.stage import ChaosStage

Say = Callable[[str, int], None]
"""Told the deed that is under way, and how many queries have ended."""


@dataclass(frozen=True)
class ChaosRun:
    """What came of a run.

    Parameters
    ----------
    rows : list of dict
        As ``accounts.account_rows`` makes them.
    faults : list of str
        What must never be; empty if nothing was.
    """

    rows: list[dict[str, Any]]
    faults: list[str]


def run_here(
    folder: Path, load: ChaosLoad, deeds: Sequence[str], say: Say, *, networks: bool
) -> ChaosRun:
    """Run without Ray; the deeds share the load's time evenly.

    Parameters
    ----------
    folder : Path
        For all files.
    networks : bool
        Whether nodes have networks of their own, as some deeds need.

    Raises
    ------
    ValueError
        If a deed needs what is not there.
    """
    if lacking := NETWORKED.intersection(deeds) if not networks else None:
        raise ValueError(f"{', '.join(sorted(lacking))}: nodes have no networks of their own")
    with staged_here(folder, load.rate_per_s, load.seed, networks=networks) as stage:
        return run_on(stage, folder, load, deeds, say)


def run_on(
    stage: ChaosStage, folder: Path, load: ChaosLoad, deeds: Sequence[str], say: Say
) -> ChaosRun:
    """Run on what is deployed."""
    with (
        routed(f"http://{stage.deployed.resolver}", (WIDE, NARROW)) as route,
    ):
        file = folder / "endings.tsv"
        resolver = f"http://{stage.deployed.resolver}"
        asking = Asking(resolver, route.address, asdict(load), str(file))
        deed = deeds[0]
        asker = AskerProcess(asking, lambda ended: say(deed, ended))
        try:
            begin_ns = asker.begin()
            spans: list[Span] = []
            for deed in deeds:
                spans.append(_done(deed, stage, begin_ns, len(spans), load.seconds / len(deeds)))
            answered = asker.answered()
        finally:
            asker.kill()
        rows = account_rows(load, begin_ns, read_endings(file), spans)
        return ChaosRun(rows, faults(rows, answered, route.answered()))


def _done(deed: str, stage: ChaosStage, begin_ns: int, number: int, seconds: float) -> Span:
    """Do it; what is left of its time passes."""
    course = Course(seconds)
    since_ns = time.monotonic_ns()
    DEEDS[deed](stage, course)
    end_ns = begin_ns + round((number + 1) * seconds * 1e9)
    time.sleep(max(0.0, (end_ns - time.monotonic_ns()) / 1e9))
    return Span(deed, since_ns, time.monotonic_ns(), course.done, course.back_s)
