"""Small changes of a genome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from surplus.placement.adversary.genome import (
    LEAST_BYTES,
    LEAST_NS,
    LEAST_RATIO,
    MOST_BYTES,
    MOST_NS,
    MOST_RATIO,
    Gene,
    Genome,
    random_gene,
)

_FACTOR = 4.0


def mutated(random: Random, genome: Genome, least: int, most: int) -> Genome:
    """One to three changes; the number of tasks stays within its bounds."""
    for _ in range(random.randint(1, 3)):
        if random.random() < 0.15:
            genome = _resized(random, genome, least, most)
        else:
            index = random.randrange(len(genome))
            gene = random.choice(_CHANGES)(random, genome[index], index)
            genome = (*genome[:index], gene, *genome[index + 1 :])
    return genome


def _resized(random: Random, genome: Genome, least: int, most: int) -> Genome:
    grows = len(genome) < most and (len(genome) <= least or random.random() < 0.5)
    if grows:
        return (*genome, random_gene(random, len(genome)))
    if len(genome) <= least:
        return genome
    lost = random.randrange(len(genome))
    kept = (gene for index, gene in enumerate(genome) if index != lost)
    return tuple(replace(gene, reads=_without(gene.reads, lost)) for gene in kept)


def _without(reads: frozenset[int], lost: int) -> frozenset[int]:
    return frozenset(task - (task > lost) for task in reads if task != lost)


def _time(random: Random, gene: Gene, index: int) -> Gene:
    return replace(gene, gpu_ns=round(_scaled(random, gene.gpu_ns, LEAST_NS, MOST_NS)))


def _ratio(random: Random, gene: Gene, index: int) -> Gene:
    return replace(gene, ratio=_scaled(random, gene.ratio, LEAST_RATIO, MOST_RATIO))


def _size(random: Random, gene: Gene, index: int) -> Gene:
    return replace(
        gene, size_bytes=round(_scaled(random, gene.size_bytes, LEAST_BYTES, MOST_BYTES))
    )


def _edge(random: Random, gene: Gene, index: int) -> Gene:
    if index == 0:
        return gene
    return replace(gene, reads=gene.reads ^ {random.randrange(index)})


def _anew(random: Random, gene: Gene, index: int) -> Gene:
    return random_gene(random, index)


def _scaled(random: Random, value: float, least: float, most: float) -> float:
    factor = float(_FACTOR ** random.uniform(-1, 1))
    return min(most, max(least, value * factor))


_CHANGES: tuple[Callable[[Random, Gene, int], Gene], ...] = (_time, _ratio, _size, _edge, _anew)
