"""The queries of a mix on a number of cores, drawn once for all contenders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bench.neighbours.clairvoyant import AskedQuery
from bench.neighbours.mixes import Stream, arrivals_s

MEASURED_ON = 2
"""Cores for which a mix is meant: on more of them its streams are as many times as many."""


class StreamQuery(NamedTuple):
    """One query of one stream.

    Parameters
    ----------
    stream : int
        Of all streams, those that are alike counted each.
    predicted_ns : int
        What a scheduler knows of ``asked.service_ns``.
    """

    stream: int
    asked: AskedQuery
    predicted_ns: int


def queries_of(
    mix: Sequence[Stream],
    service_ns: Mapping[str, Sequence[int]],
    cores: int,
    load: float,
    seconds: float,
    seed: int,
) -> list[StreamQuery]:
    """Poisson arrivals, in order; service times are drawn from those that were measured.

    Parameters
    ----------
    service_ns : mapping
        Measured times of each stream's model, by the stream's name.
    """
    draw = np.random.default_rng(seed)
    found = []
    for index in range(len(mix) * cores // MEASURED_ON):
        stream = mix[index % len(mix)]
        times_ns = np.round(
            arrivals_s(stream, load, seconds, 1000 * seed + index, poisson=True) * 1e9
        ).astype(np.int64)
        measured = np.asarray(service_ns[stream.name])
        taken = draw.choice(measured, len(times_ns))
        usual = int(np.median(measured))
        due_ns = round(stream.due_ms * 1e6)
        found += [
            StreamQuery(index, AskedQuery(stream.name, when, when + due_ns, takes), usual)
            for when, takes in zip(times_ns.tolist(), taken.tolist(), strict=True)
        ]
    return sorted(found, key=lambda query: query.asked.arrival_ns)
