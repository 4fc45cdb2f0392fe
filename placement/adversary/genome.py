"""A small problem in a form that is easy to change."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from surplus.placement.problem import Device, Link, Problem, Task, Tensor

LATENCY_NS = 10_000
BYTES_PER_S = 12e9
"""Of each link: what a PCIe 3 slot and CUDA's calls come to."""

LEAST_NS, MOST_NS = 1_000, 2_000_000
"""Service times of operators on a GPU."""

LEAST_RATIO, MOST_RATIO = 0.5, 60.0
"""How much slower a CPU is."""

LEAST_BYTES, MOST_BYTES = 100, 32_000_000
_INPUT_BYTES = 4_000


@dataclass(frozen=True)
class Gene:
    """A task.

    Parameters
    ----------
    gpu_ns : int
        Service time on the GPU.
    ratio : float
        Service time on the CPU over that on the GPU.
    size_bytes : int
        Of the tensor that it makes.
    reads : frozenset of int
        Tasks before it whose tensors it reads; if none, it reads the graph's input.
    """

    gpu_ns: int
    ratio: float
    size_bytes: int
    reads: frozenset[int]


Genome = tuple[Gene, ...]


def random_genome(random: Random, tasks: int) -> Genome:
    """Tasks of any sizes, each reading up to two before it."""
    return tuple(random_gene(random, index) for index in range(tasks))


def random_gene(random: Random, index: int) -> Gene:
    """A task at a place."""
    reads = random.sample(range(index), min(index, random.randint(0, 2)))
    return Gene(
        round(log_uniform(random, LEAST_NS, MOST_NS)),
        log_uniform(random, LEAST_RATIO, MOST_RATIO),
        round(log_uniform(random, LEAST_BYTES, MOST_BYTES)),
        frozenset(reads),
    )


def log_uniform(random: Random, least: float, most: float) -> float:
    """All orders of magnitude alike."""
    return float(least * (most / least) ** random.random())


def problem_of_genome(genome: Genome, name: str) -> Problem:
    """One CPU worker and one GPU stream; what nobody reads is an output."""
    readers: list[list[int]] = [[] for _ in genome]
    roots = []
    for index, gene in enumerate(genome):
        for task in gene.reads:
            readers[task].append(index)
        if not gene.reads:
            roots.append(index)
    made = (
        Tensor(f"x{index}", index, tuple(to), genome[index].size_bytes, not to)
        for index, to in enumerate(readers)
    )
    return Problem(
        name,
        (Device("cpu"), Device("gpu", memory="gpu")),
        (
            Link("host", "gpu", LATENCY_NS, BYTES_PER_S),
            Link("gpu", "host", LATENCY_NS, BYTES_PER_S),
        ),
        tuple(_task(index, gene) for index, gene in enumerate(genome)),
        (Tensor("in", -1, tuple(roots), _INPUT_BYTES), *made),
    )


def _task(index: int, gene: Gene) -> Task:
    times = (round(gene.gpu_ns * gene.ratio), gene.gpu_ns)
    return Task(f"t{index}", "Op", times, default_device=1)
