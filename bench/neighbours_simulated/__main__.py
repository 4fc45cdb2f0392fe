"""The neighbours' mixes on 2, 16 and 64 cores, simulated: what each contender holds, and the bound.

Service times were measured on one thread (service_times.py); everything else is simulated: the
system's sharing of cores is ideal, our lanes follow the twin of the core's rules, and switches,
caches and memory cost nothing. ``--cores 2 --mix voice`` shows one; without words all is stored.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from bench.infrastructure import result_file
from bench.neighbours.clairvoyant import clairvoyant_work_ns
from bench.neighbours.mixes import BACKGROUND, MIXES
from bench.neighbours_simulated.contenders import (
    CLAIRVOYANT,
    CONTENDERS,
    CORES,
    MISSES,
    QUERIES,
    Scene,
)
from bench.neighbours_simulated.service_times import stored
from surplus.engine.devices.parsing import available_cores

LIGHT, OVERLOADS = (1.0, 3.0), (6.0, 10.0)
CURVE = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 13.0)


def rows(mix: str, cores: int, service_ns: Mapping[str, Sequence[int]]) -> list[dict[str, Any]]:
    """A row for each contender, and the bound."""
    scene = Scene(MIXES[mix], service_ns, cores)
    resnet_ns = sorted(service_ns[BACKGROUND.name])[len(service_ns[BACKGROUND.name]) // 2]
    bound = scene.held_by_clairvoyant()
    found = []
    for how, serve in CONTENDERS.items():
        held = scene.held_by(serve)
        row = {"mix": mix, "cores": cores, "contender": how, "holds load": held}
        row["of the bound"] = held / bound
        for load in OVERLOADS:
            in_time_ns = scene.answers(serve, load).in_time_ns()
            row[f"load {load:g}: in time s/s"] = in_time_ns / 1e9 / scene.seconds
        for load in LIGHT:
            left_ns = scene.answers(serve, load).background_ns
            row[f"load {load:g}: background /s"] = left_ns / resnet_ns / scene.seconds
        found.append(row)
    return [*found, _bound_row(mix, scene, bound, list(found[0]))]


def _bound_row(mix: str, scene: Scene, held: float, keys: Sequence[str]) -> dict[str, Any]:
    """Of background nothing is said: a schedule that holds all may leave none of it out."""
    row: dict[str, Any] = dict.fromkeys(keys, "")
    row |= {"mix": mix, "cores": scene.cores, "contender": CLAIRVOYANT, "holds load": held}
    row["of the bound"] = 1.0
    for load in OVERLOADS:
        asked = [query.asked for query in scene.queries(load)]
        work_ns = clairvoyant_work_ns(asked, scene.cores)
        row[f"load {load:g}: in time s/s"] = work_ns / 1e9 / scene.seconds
    return row


def curves(mix: str, cores: int, service_ns: Mapping[str, Sequence[int]]) -> list[dict[str, Any]]:
    """The worst model's misses over the load."""
    scene = Scene(MIXES[mix], service_ns, cores)
    return [
        {
            "mix": mix,
            "cores": cores,
            "contender": how,
            "load": load,
            "worst model's misses": scene.answers(serve, load).worst_misses()[0],
        }
        for how, serve in CONTENDERS.items()
        for load in CURVE
    ]


def main() -> None:
    """Simulate what the command line names, or all, which is stored."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mix", choices=tuple(MIXES), help="one only; nothing is stored")
    parser.add_argument("--cores", type=int, choices=CORES, help="the same")
    args = parser.parse_args()
    machine, service_ns = stored()
    scenes = [
        (mix, cores)
        for mix in ([args.mix] if args.mix else MIXES)
        for cores in ([args.cores] if args.cores else CORES)
    ]
    with ProcessPoolExecutor(available_cores()) as pool:
        tables = [pool.submit(rows, *scene, service_ns) for scene in scenes]
        drawn = [pool.submit(curves, *scene, service_ns) for scene in scenes]
        table = [row for found in tables for row in found.result()]
        lines = [row for found in drawn for row in found.result()]
    result_file.show("Neighbours, simulated", table)
    if args.mix or args.cores:
        return
    config = {"misses": MISSES, "queries at load 1": QUERIES, "service times of": machine}
    result_file.write("neighbours_simulated", config, table)
    result_file.write("neighbours_simulated_misses", config, lines)


if __name__ == "__main__":
    main()
