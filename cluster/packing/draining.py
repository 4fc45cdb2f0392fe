"""Empties nodes whose replicas find places elsewhere, so that they can be given back."""

from __future__ import annotations

from surplus.cluster.packing.packer import Packer

_TRIES = 12
"""Nodes in a row that cannot be emptied before one looks no further."""


def drain(packer: Packer, most_moves: int, below_percent: int = 100) -> int:
    """Empty the emptiest nodes, one after the other; return how many replicas moved.

    Parameters
    ----------
    most_moves : int
        Replicas that may move at most.
    below_percent : int
        Of a node's power; fuller ones are left alone.
    """
    racks = packer.racks
    moved = tries = 0
    for node in racks.used_nodes().tolist():
        own = int((racks.node_of == node).sum())
        full = racks.used_percent(node) > below_percent * own
        if full or tries == _TRIES or moved + racks.seats_on(node) > most_moves:
            break
        racks.closed[node] = True
        done = _empty(packer, node)
        if not done:
            racks.closed[node] = False
        tries = 0 if done else tries + 1
        moved += done
    racks.reopen()
    return moved


def _empty(packer: Packer, node: int) -> int:
    """Move all replicas of a node, or none; return how many."""
    racks = packer.racks
    here = [(strip, model) for strip in racks.strips_on(node) for model in racks.seats(strip)]
    placed: list[tuple[int, int]] = []
    for strip, model in here:
        found = packer.copy_elsewhere(strip, model)
        if found < 0:
            for other, who in placed:
                racks.unseat(other, who)
            return 0
        placed.append((found, model))
    for strip, model in here:
        racks.unseat(strip, model)
    return len(here)
