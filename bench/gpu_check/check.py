"""Runs the parts in order, as far as time allows, and says what was found after each unit."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from bench.gpu_check.parts import Part
from bench.gpu_check.setting import Setting
from bench.gpu_check.store import BEGUN, OUT_OF_TIME, PartStore
from bench.gpu_check.unit import run_unit

Say = Callable[[str], None]
Clock = Callable[[], float]
Run = Callable[[Part, str, Setting, float], dict[str, Any]]


@dataclass(frozen=True)
class CheckParams:
    """How to run the parts.

    Parameters
    ----------
    setting : Setting
        Its budget is not read: each part has its own.
    seconds : float
        After so long no unit begins, and what runs is stopped.
    anew : bool
        Whether to measure again what is stored.
    failed_last : bool
        Whether parts of which nothing is left but what failed at an earlier start come last.
    """

    setting: Setting
    seconds: float
    anew: bool = False
    failed_last: bool = False


class Check:
    """The parts with what is stored of them.

    Parameters
    ----------
    machine : mapping
        What figures depend on, beside the configuration.
    say : callable
        Takes a line for whoever watches.
    run, clock : callable
        Runs a unit; reads seconds. Tests inject theirs.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        params: CheckParams,
        machine: Mapping[str, Any],
        say: Say,
        run: Run = run_unit,
        clock: Clock = time.monotonic,
    ) -> None:
        self._parts, self._params = parts, params
        self._say, self._run, self._clock = say, run, clock
        self._until = clock() + params.seconds
        self.stores = {part.name: self._store(part, machine) for part in parts}

    def play(self) -> None:
        """Measure what is missing."""
        for part in sorted(self._parts, key=self._goes_last):
            store = self.stores[part.name]
            units = [spec.text for spec in part.models]
            missing = [u for u in units if self._params.anew or not store.is_done(u)]
            if len(missing) < len(units):
                self._say(f"{part.name}: {len(units) - len(missing)} of {len(units)} are stored")
            # What ended a check, or used up its time, shall not do so again before all others.
            missing.sort(key=store.has_failed)
            with ThreadPoolExecutor(part.workers) as pool:
                list(pool.map(lambda unit, part=part: self._unit(part, unit), missing))

    def _unit(self, part: Part, unit: str) -> None:
        left_s = self._until - self._clock()
        store = self.stores[part.name]
        if left_s <= 0:
            if unit not in store.units:
                store.keep(unit, {"error": OUT_OF_TIME})
            return
        began, earlier = self._clock(), store.units.get(unit, {})
        store.keep(unit, {"error": BEGUN})
        found = self._run(part, unit, replace(self._params.setting, budget_s=part.unit_s), left_s)
        if "error" in found and "figures" in earlier and self._clock() >= self._until:
            store.keep(unit, earlier)  # the check's time was over: that says nothing of the unit
        else:
            store.keep(unit, {**found, "seconds": round(self._clock() - began, 1)})
        self._say(f"{part.name} {unit}: {_told(found)} ({self._clock() - began:.0f} s)")

    def _goes_last(self, part: Part) -> bool:
        store = self.stores[part.name]
        return self._params.failed_last and all(
            store.is_done(spec.text) or store.has_failed(spec.text) for spec in part.models
        )

    def _store(self, part: Part, machine: Mapping[str, Any]) -> PartStore:
        setting = self._params.setting
        config = {"devices": setting.devices, "unit s": part.unit_s}
        return PartStore(setting.results / f"{part.name}.json", machine, config)


def _told(found: Mapping[str, Any]) -> str:
    if "error" in found:
        return f"NOT MEASURED: {found['error']}"
    rows = [f"{row['what']} {_value(row['value'])}{_judged(row)}" for row in found["figures"]]
    return "; ".join(rows) or "done"


def _value(value: float | None) -> str:
    return "not had" if value is None else f"{value:.3g}"


def _judged(row: Mapping[str, Any]) -> str:
    verdict = {True: ", met", False: ", MISSED", None: ""}[row["met"]]
    return f" (bar {row['bar']}{verdict})" if row["bar"] else ""
