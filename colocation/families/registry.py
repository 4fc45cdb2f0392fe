"""All families by name, and a scenario of one."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from surplus.colocation.families.changing import CHANGING
from surplus.colocation.families.cores import CORES
from surplus.colocation.families.family import Document, ScenarioFamily
from surplus.colocation.families.gpulets import GPULETS
from surplus.colocation.families.knees import KNEES
from surplus.colocation.families.lanes import LANES
from surplus.colocation.families.pairs import PAIRS
from surplus.colocation.families.tails import TAILS
from surplus.colocation.families.whole_devices import WHOLE_DEVICES
from surplus.colocation.randomness.draws import stream_of
from surplus.colocation.scenarios.scenario import Scenario
from surplus.colocation.scenarios.scenario_file import scenario_of_document

SCENARIO_FAMILIES: dict[str, ScenarioFamily] = {
    "knees": KNEES,
    "gpulets": GPULETS,
    "lanes": LANES,
    "whole": WHOLE_DEVICES,
    "tails": TAILS,
    "changing": CHANGING,
    "pairs": PAIRS,
    "cores": CORES,
}

_DURATION_S = 10.0


def family_document(family: str, seed: int) -> Document:
    """What the file of a scenario holds; always the same for the same two.

    Raises
    ------
    ValueError
        If there is no such family.
    """
    if family not in SCENARIO_FAMILIES:
        known = ", ".join(SCENARIO_FAMILIES)
        raise ValueError(f"unknown family {family!r}; there are: {known}")
    draw = np.random.default_rng([stream_of(seed, family), 0])
    made = SCENARIO_FAMILIES[family].make(draw)
    head = {"name": f"{family} {seed}", "duration_s": _DURATION_S, "seed": seed}
    return {**head, "policies": ["surplus", "max_throughput_drop", "clockwork"], **made}


def family_scenario(
    family: str, seed: int, folder: Path = Path(), data: Path | None = None
) -> Scenario:
    """A scenario of a family, at the load that its generator guesses.

    Parameters
    ----------
    folder : Path
        Where trained models are, of families that need them.
    data : Path, optional
        What ``{data}`` means.

    Raises
    ------
    ValueError
        If there is no such family, or it needs files that are not there.
    """
    return scenario_of_document(family_document(family, seed), folder, data)
