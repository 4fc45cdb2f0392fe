"""Other options of servers, one node after the other.

The first node that is behind is told; the others go on as they are until it has changed. One that
cannot start with them holds the rest up, and serves on as it was.
"""

from __future__ import annotations

from collections.abc import Mapping

from surplus.engine.deployment.node_report import NodeReport
from surplus.engine.deployment.node_servers import Options


def renewals(
    wanted: Mapping[str, Options], reports: Mapping[str, NodeReport]
) -> Mapping[str, Options]:
    """Options of ``engine serve`` that each node is told now.

    Parameters
    ----------
    wanted : mapping of str to tuple of str
        By node.
    reports : mapping of str to NodeReport
        Of nodes that answer; only these are told.
    """
    told = {node: report.options for node, report in reports.items()}
    behind = [node for node in sorted(told) if node in wanted and told[node] != wanted[node]]
    return told | {node: wanted[node] for node in behind[:1]}
