"""Sets of items that edges join."""

from __future__ import annotations

from collections.abc import Iterable


class DisjointSets:
    """Union-find with path halving over given items, each alone at first."""

    def __init__(self, items: Iterable[int]) -> None:
        self._parent = {item: item for item in items}

    def join(self, a: int, b: int) -> None:
        """Make one set of those of two items."""
        a, b = self._root(a), self._root(b)
        self._parent[max(a, b)] = min(a, b)

    def sets(self) -> list[tuple[int, ...]]:
        """Every set; items, and sets by their first item, in the order that they were given."""
        members: dict[int, list[int]] = {}
        for item in self._parent:
            members.setdefault(self._root(item), []).append(item)
        return [tuple(row) for row in members.values()]

    def _root(self, item: int) -> int:
        parent = self._parent
        while parent[item] != item:
            parent[item] = parent[parent[item]]
            item = parent[item]
        return item
