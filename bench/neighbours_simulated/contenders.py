"""Who answers the mixes in the simulation, and how far each may be loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bench.neighbours.clairvoyant import clairvoyant_holds
from bench.neighbours.mixes import Stream
from bench.neighbours_simulated.answers import Answers
from bench.neighbours_simulated.core_machine import CoreMachine
from bench.neighbours_simulated.shared_cores import NICE_19, shared
from bench.neighbours_simulated.stream_load import MEASURED_ON, StreamQuery, queries_of

MISSES = 0.01
"""What every model may miss of its queries."""

CORES = (2, 16, 64)
QUERIES = 4_000
"""Of a mix that are simulated at load 1, on whatever number of cores."""

OURS = "our core's rules (simulated)"
OURS_REFUSING = "that, late ones refused (simulated)"
Serve = Callable[[Sequence[StreamQuery], int, int], Answers]

CONTENDERS: Mapping[str, Serve] = {
    "one thread a session (simulated)": lambda queries, cores, until_ns: shared(
        queries, cores, until_ns, 1.0
    ),
    "that, background at nice 19 (simulated)": lambda queries, cores, until_ns: shared(
        queries, cores, until_ns, NICE_19
    ),
    OURS: lambda queries, cores, until_ns: CoreMachine(queries, cores).served(until_ns),
    OURS_REFUSING: lambda queries, cores, until_ns: CoreMachine(
        queries, cores, refuses=True
    ).served(until_ns),
}
CLAIRVOYANT = "clairvoyant bound"


class Scene:
    """A mix on a number of cores.

    Parameters
    ----------
    service_ns : mapping
        Measured times by the streams' names (service_times.py).
    """

    def __init__(
        self,
        mix: Sequence[Stream],
        service_ns: Mapping[str, Sequence[int]],
        cores: int,
        seed: int = 1,
    ) -> None:
        self._mix, self._service_ns, self._seed = mix, service_ns, seed
        self.cores = cores
        streams = [mix[index % len(mix)] for index in range(len(mix) * cores // MEASURED_ON)]
        self.seconds = QUERIES / sum(stream.rate_per_s for stream in streams)

    def queries(self, load: float) -> list[StreamQuery]:
        """The same for all contenders."""
        drawn = (self._mix, self._service_ns, self.cores, load, self.seconds, self._seed)
        return queries_of(*drawn)

    def answers(self, serve: Serve, load: float) -> Answers:
        """What one contender does."""
        return serve(self.queries(load), self.cores, round(self.seconds * 1e9))

    def held(self, holds: Callable[[float], bool], most: float = 40.0) -> float:
        """The highest load that holds, to within 2 %; 0 if half of load 1 does not."""
        low, high = 0.5, 1.0
        if not holds(low):
            return 0.0
        while high < most and holds(high):
            low, high = high, high * 1.5
        while high > low * 1.02:
            middle = (low * high) ** 0.5
            low, high = (middle, high) if holds(middle) else (low, middle)
        return low

    def held_by(self, serve: Serve) -> float:
        """The highest load at which every model misses at most ``MISSES``."""
        return self.held(lambda load: self.answers(serve, load).worst_misses()[0] <= MISSES)

    def held_by_clairvoyant(self) -> float:
        """What no schedule exceeds."""

        def holds(load: float) -> bool:
            asked = [query.asked for query in self.queries(load)]
            return clairvoyant_holds(asked, self.cores, MISSES)

        return self.held(holds)
