"""Ends the agents of a deployment whose controller is gone."""

from __future__ import annotations

from concurrent.futures import wait

from surplus.engine.deployment.machines import Machines
from surplus.engine.deployment.node_agent import AgentParams

_TIMEOUT_S = 60.0


def take_down(deployment: str, machines: Machines) -> int:
    """End them, with their servers' queries answered.

    Returns
    -------
    int
        How many there were.
    """
    nodes = machines.with_agents(deployment)
    agents = [machines.agent(AgentParams(deployment, node, "", "")) for node in nodes]
    _, late = wait([agent.close() for agent in agents], _TIMEOUT_S)
    if late:
        for agent in agents:
            agent.kill()
    return len(agents)
