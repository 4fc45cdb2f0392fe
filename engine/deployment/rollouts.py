"""Other versions of a model, one node after the other; back, if a node cannot serve them.

A node replaces what it serves only when what is new is loaded beside it, so that no query is lost
there. The first node is the one that shows whether the new versions can be served at all.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Set

from surplus.engine.deployment.node_report import ModelVersions, NodeReport
from surplus.engine.deployment.staged_models import Versions

_LOG = logging.getLogger(__name__)


class Rollouts:
    """Which versions each node is to serve.

    Parameters
    ----------
    targets : mapping of str to tuple of int
        Versions of each model at first.
    """

    def __init__(self, targets: Mapping[str, Versions]) -> None:
        self._targets = dict(targets)
        self._former: dict[str, Versions] = {}
        self._given: dict[str, dict[str, Versions]] = {}
        self.failures: dict[str, str] = {}

    @property
    def targets(self) -> dict[str, Versions]:
        """What is to be served, or was gone back to, by model."""
        return dict(self._targets)

    def aim(self, name: str, versions: Versions) -> None:
        """Serve these versions of a model from now on."""
        if self._targets.get(name) != versions:
            if name in self._targets:
                self._former[name] = self._targets[name]
            self._targets[name] = versions
            self.failures.pop(name, None)

    def forget(self, name: str) -> None:
        """The model is not deployed any more."""
        for known in (self._targets, self._former, self.failures):
            known.pop(name, None)

    def is_done(self, name: str) -> bool:
        """Whether every node that holds a model was given what is to be served."""
        given = [own[name] for own in self._given.values() if name in own]
        return all(versions == self._targets.get(name) for versions in given)

    def step(
        self, held: Mapping[str, Set[str]], reports: Mapping[str, NodeReport]
    ) -> Mapping[str, ModelVersions]:
        """What each node is to serve now.

        Parameters
        ----------
        held : mapping of str to set of str
            Models, by node.
        reports : mapping of str to NodeReport
            What nodes said last; of those that answered.
        """
        before, self._given = self._given, {}
        for node, models in held.items():
            known = before.get(node) or dict(_staged(reports.get(node)))
            new = {name: self._newcomer(name) for name in models & self._targets.keys()}
            going = {name: known[name] for name in models & known.keys()}
            self._given[node] = new | going
        for name in {name for models in held.values() for name in models}:
            if name in self._targets:  # else it goes, and serves on as it is until then
                self._turn(name, reports)
        return self._given

    def _newcomer(self, name: str) -> Versions:
        """Who comes while others change is given what has proved itself, if there is such."""
        return self._former.get(name, self._targets[name])

    def _turn(self, name: str, reports: Mapping[str, NodeReport]) -> None:
        """Look after a change in progress, or begin the next."""
        target = self._targets[name]
        holders = [node for node in sorted(self._given) if name in self._given[node]]
        given = {node: self._given[node][name] for node in holders}
        for node in holders:
            report = reports.get(node)
            if given[node] != target or report is None or report.ready.get(name) == target:
                continue
            failed = report.failed.get(name) if report.staged.get(name) == target else None
            why = report.uncopied.get(name) or failed
            if why and name in self._former:
                self._go_back(name, node, why)
            return  # it is not ready yet
        behind = [node for node in holders if given[node] != target]
        if not behind:
            self._former.pop(name, None)
        else:
            self._given[behind[0]][name] = target

    def _go_back(self, name: str, node: str, why: str) -> None:
        text = f"versions {self._targets[name]} cannot be served: {why}"
        _LOG.warning("model %r, node %s: %s", name, node, text)
        self.failures[name] = text
        self._targets[name] = self._former.pop(name)
        for own in self._given.values():
            if name in own:
                own[name] = self._targets[name]


def _staged(report: NodeReport | None) -> ModelVersions:
    """Of a node that another life of this object gave it."""
    return {} if report is None else report.staged
