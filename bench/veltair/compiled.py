"""VELTAIR's compiled versions of real networks, beside real pressure on caches and memory.

``python -m bench veltair_compiled [--models mobilenet_v2,resnet50,bert_layer] [--rounds 20]``, with
TVM installed (extra ``compiled``); some minutes, most of them compiling. On a quiet machine with
``--wall``: times by the wall's clock, on one lane and on all.

Each network is compiled into build/compiled, unless it is there already, and loaded through the
segment ABI, where its answers are compared with ONNX Runtime's. It runs whole in each version,
beside each presser in turns. Times are medians; ratios are those of one round, so that what
disturbs the machine meets both sides. On one lane they are those that the process was on a core:
what pressure on caches and memory costs, without what sharing a core does. A version is chosen by
the odd rounds and judged by the even ones. Then a monitor's readings choose live, beside pressers
that it is not told of.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from bench.infrastructure import result_file
from bench.veltair.pressers import LEVELS, NOBODY, Presser, Pressing
from surplus import models
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.service import Partition
from surplus.colocation.frame.work import Group, piece_of
from surplus.colocation.policies.veltair.versions import VersionChoice, pruned
from surplus.engine.compilation.candidates import CandidateParams
from surplus.engine.compilation.compile_model import MANIFEST, CompilationParams, compile_model
from surplus.engine.compilation.read_layers import read_layers
from surplus.engine.errors import ExecutionError
from surplus.engine.native import load_runtime
from surplus.engine.planning.stages import read_model
from surplus.engine.scheduling.backend import EngineBackend
from surplus.engine.scheduling.compiled import find_compiled
from surplus.engine.scheduling.compiled_check import check_compiled
from surplus.engine.scheduling.host_pressure import fit_proxy
from surplus.engine.scheduling.live_model import LiveModel, LiveModelParams
from surplus.engine.scheduling.pressure_monitor import PressureMonitor, machine_sources
from surplus.engine.scheduling.setting_up import loaded, places, replay_backend

FOLDER = Path("build/compiled")
VERSIONS = 4
LANES = 2
CLOCKS = {1: ("on a core",)}
WALL_CLOCKS = {1: ("on a core", "wall"), LANES: ("wall",)}
"""By lanes; who waits for another lane may spin, so that there only the wall's tells something."""

TITLES = ("veltair_compiled", "veltair_switching")
_READINGS = 8
Row = dict[str, Any]
Times = dict[tuple[str, int], list[float]]
"""Milliseconds by level and version, round by round."""


@dataclass(frozen=True)
class Network:
    """What of a network is compiled.

    Parameters
    ----------
    builds : str
        Name of the model, and its parameters.
    blocks, most_layers : int
        See ``CompilationParams``.
    target_ms : int
        Twice what ONNX Runtime takes alone on one lane, about.
    """

    builds: str
    parameters: dict[str, int]
    blocks: int
    most_layers: int
    target_ms: int


NETWORKS = {
    "mobilenet_v2": Network("mobilenet_v2", {}, 4, 0, 16),
    "resnet50": Network("resnet50", {}, 8, 5, 60),
    "bert_layer": Network("bert_base", {"layers": 2, "vocabulary": 1000}, 2, 0, 40),
}


class Versions:
    """A network with its versions, on a backend."""

    def __init__(self, name: str, candidates: int) -> None:
        network, folder = NETWORKS[name], FOLDER / name
        folder.mkdir(parents=True, exist_ok=True)
        self._path, self._manifest = folder / "model.onnx", folder / MANIFEST
        models.save(models.info(network.builds).build(**network.parameters), self._path)
        self._graph = read_model(self._path)
        if not self._manifest.exists():
            params = CompilationParams(
                network.target_ms * 1_000_000,
                network.blocks,
                VERSIONS,
                LANES,
                network.most_layers,
                CandidateParams(candidates),
            )
            compile_model(self._graph, folder, params, lambda text: print(text, flush=True))
        self._place = places(f"cpu:{LANES}", [LANES])[0]
        self.model = self._loaded()
        self.apart = max(check_compiled(self.model, self._place).values())
        self._backend: EngineBackend = replay_backend([self.model], [self._place])
        self._backend.prepare([Partition(0, 100, cores=LANES)])
        self._ids = count()

    def _loaded(self) -> LiveModel:
        """With the fewest groups that its blocks allow."""
        blocks = find_compiled(self._graph, self._manifest).blocks
        ends = [0, *(place for own in blocks for place in (own.first, own.end))]
        between = zip(ends[::2], [*ends[1::2], len(self._graph.tasks)], strict=True)
        groups = len(blocks) + sum(end > first for first, end in between)
        params = LiveModelParams(groups, manifest=self._manifest)
        return loaded("model", self._path, self._place, params)

    def took_ms(self, version: int, width: int) -> dict[str, float]:
        """Time of one query, whole, in a version, by clock."""
        query = Query(next(self._ids), 0, 0, 0, 0, 1)
        pieces = (piece_of((query,), 0, self.model.operators),)
        began_ns, used_ns = time.monotonic_ns(), time.process_time_ns()
        self._backend.start(Group(query.id, 0, pieces, 0, 0, width, version))
        (ended,) = self._backend.wait(None)
        wall_ns, used_ns = time.monotonic_ns() - began_ns, time.process_time_ns() - used_ns
        if ended.error:
            raise ExecutionError(ended.error)
        return {"wall": wall_ns / 1e6, "on a core": used_ns / 1e6}

    def write_sensitivities(self, values: Sequence[float]) -> None:
        """Into the manifest, for the policy."""
        lines = self._manifest.read_text().splitlines()
        kept = [line for line in lines if not line.startswith("sensitivities")]
        kept.insert(1, f"sensitivities = {[round(value, 4) for value in values]}")
        self._manifest.write_text("\n".join([*kept, ""]))

    def facts(self) -> Row:
        """What was compiled, and how far its answers are from ONNX Runtime's at most."""
        blocks = find_compiled(self._graph, self._manifest).blocks
        read = [read_layers(self._graph, own.first, own.end) for own in blocks]
        return {
            "blocks": len(blocks),
            "operators in them": sum(own.end - own.first for own in blocks),
            "of": len(self._graph.tasks),
            "different layers": len({layer.work for own in read for layer in own.layers}),
            "largest difference": self.apart,
        }


def measured(
    versions: Versions, pressing: Pressing, width: int, clocks: Sequence[str], rounds: int
) -> dict[str, Times]:
    """Every version beside every presser, in turns, by clock."""
    keys = [(level.name, v) for level in LEVELS for v in range(VERSIONS + 1)]
    times: dict[str, Times] = {clock: {key: [] for key in keys} for clock in clocks}
    for version in range(VERSIONS + 1):
        versions.took_ms(version, width)
    for turn in range(rounds):
        for level in LEVELS:
            with pressing.at(level):
                for place in range(VERSIONS + 1):
                    version = (place + turn) % (VERSIONS + 1)
                    took = versions.took_ms(version, width)
                    for clock, own in times.items():
                        own[level.name, version].append(took[clock])
    return times


def version_rows(name: str, width: int, clock: str, times: Times) -> list[Row]:
    """A version a row: alone, over the session, and how much slower beside each presser."""
    rows = []
    for version in range(VERSIONS + 1):
        alone = times[NOBODY.name, version]
        row: Row = {
            "model": name,
            "lanes": width,
            "clock": clock,
            "version": "session" if version == 0 else str(version),
            "alone ms": statistics.median(alone),
            "over session": _ratio(alone, times[NOBODY.name, 0]),
        }
        for level in LEVELS[1:]:
            row[level.name] = _ratio(times[level.name, version], alone)
        rows.append(row)
    return rows


def _ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """Median over the rounds."""
    return statistics.median(a / b for a, b in zip(above, below, strict=True))


def _half(times: Times, first: int) -> dict[tuple[str, int], float]:
    """Medians of every second round."""
    return {key: statistics.median(own[first::2]) for key, own in times.items()}


def switching_row(name: str, width: int, clock: str, times: Times) -> Row:
    """What it gains to know the level, over the one version that is best on the whole."""
    known, judged = _half(times, 1), _half(times, 0)
    every = range(VERSIONS + 1)
    names = [level.name for level in LEVELS]
    best = {level: min(every, key=lambda v: known[level, v]) for level in names}
    single = min(
        every, key=lambda v: sum(known[level, v] / known[level, best[level]] for level in names)
    )
    gains = [judged[level, single] / judged[level, best[level]] - 1 for level in names]
    loaded_ns = [[known[level, v] for level in names] for v in every]
    return {
        "model": name,
        "lanes": width,
        "clock": clock,
        "best on the whole": _called(single),
        "best by presser": ", ".join(_called(best[level]) for level in names),
        "kept at 90 %": ", ".join(_called(v) for v in pruned(loaded_ns)),
        "knowing gains %, mean": 100 * statistics.fmean(gains),
        "knowing gains %, most": 100 * max(gains),
    }


def _called(version: int) -> str:
    return str(version) if version else "session"


def live_columns(
    versions: Versions, pressing: Pressing, asked: tuple[int, str], times: Times, row: Row
) -> Row:
    """Versions chosen by what a monitor reads, beside the one that is best on the whole."""
    (width, clock), best = asked, row["best on the whole"]
    single = 0 if best == "session" else int(best)
    rounds = max(2, len(times[NOBODY.name, 0]) // 2)
    sources, monitor = machine_sources(), PressureMonitor()
    slowdown = {
        (level.name, v): _ratio(times[level.name, v], times[NOBODY.name, v])
        for level in LEVELS
        for v in range(VERSIONS + 1)
    }
    seen: list[tuple[str, float]] = []
    for turn in range(2 * rounds):
        for level in LEVELS:
            with pressing.at(level):
                reading = monitor.pressure_now(sources, _READINGS)
            if turn > 0:
                seen.append((level.name, reading))
    slow = [statistics.fmean(slowdown[n, v] for v in range(VERSIONS + 1)) for n, _ in seen]
    line = fit_proxy([(reading,) for _, reading in seen], slow)
    alone = [statistics.median(times[NOBODY.name, v]) for v in range(VERSIONS + 1)]
    choice = VersionChoice(alone, sensitivities(times), 0.02)
    ratios: list[float] = []
    used: set[int] = set()
    for _ in range(rounds):
        for level in LEVELS:
            with pressing.at(level):
                reading = monitor.pressure_now(sources, _READINGS)
                version = choice.at(line.slowdown((reading,)) - 1.0)
                used.add(version)
                took = [versions.took_ms(v, width)[clock] for v in (single, version)]
                ratios.append(took[0] / took[1])
    mean, spread = statistics.fmean(slow), statistics.pstdev(slow)
    return {
        "reading alone": _reading(seen, NOBODY),
        "reading, copies on both": _reading(seen, LEVELS[-1]),
        "R2 of the line": 1 - (line.error / spread) ** 2 if spread else 0.0,
        "slowdown, mean": mean,
        "chosen live": ", ".join(map(_called, sorted(used))),
        "chosen live gains %": 100 * (statistics.median(ratios) - 1),
    }


def _reading(seen: Sequence[tuple[str, float]], level: Presser) -> float:
    return statistics.median(reading for name, reading in seen if name == level.name)


def sensitivities(times: Times) -> list[float]:
    """By version: slowdown per mean slowdown of all versions, over the pressers (least squares)."""
    every = range(VERSIONS + 1)
    own = [
        [_ratio(times[level.name, v], times[NOBODY.name, v]) - 1 for level in LEVELS] for v in every
    ]
    mean = [statistics.fmean(row[k] for row in own) for k in range(len(LEVELS))]
    below = sum(x * x for x in mean) or 1.0
    return [max(0.0, sum(x * y for x, y in zip(row, mean, strict=True)) / below) for row in own]


def _kept(title: str, names: Sequence[str]) -> tuple[list[Row], Row]:
    """Rows and facts of networks that are not measured anew."""
    path = result_file.path_of(title)
    if not path.exists():
        return [], {}
    document = result_file.read_document(path)
    rows = [row for row in result_file.rows_of(document) if row["model"] not in names]
    return rows, {k: facts for k, facts in document["config"].items() if k not in names}


def main() -> int:
    """Compile, measure and store the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default=",".join(NETWORKS))
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--wall", action="store_true")
    parser.add_argument("--candidates", type=int, default=12)
    args = parser.parse_args()
    load_runtime()
    names = args.models.split(",")
    (table, config), (switching, _) = (_kept(title, names) for title in TITLES)
    for name in names:
        versions = Versions(name, args.candidates)
        pressing = Pressing(LEVELS)
        try:
            for width, clocks in (WALL_CLOCKS if args.wall else CLOCKS).items():
                found = measured(versions, pressing, width, clocks, args.rounds)
                for clock, times in found.items():
                    table += version_rows(name, width, clock, times)
                    row = switching_row(name, width, clock, times)
                    asked = (width, clock)
                    row |= live_columns(versions, pressing, asked, times, row)
                    switching.append(row)
                    if clock == "on a core":
                        versions.write_sensitivities(sensitivities(times))
        finally:
            pressing.end()
        asked = {"rounds": args.rounds, "candidates": args.candidates}
        config[name] = asked | versions.facts()
        for title, rows in zip(TITLES, (table, switching), strict=True):
            result_file.show(title, rows)
            result_file.write(title, config, rows)
    print(config)
    return 0


if __name__ == "__main__":
    sys.exit(main())
