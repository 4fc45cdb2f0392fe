"""The balancer: which replica of a model answers a query, for clients and simulators alike.

It is native (``routing/core``), and reads no clock: who uses it says what time it is, sends the
queries, and says how they ended::

    balancer = Balancer()
    model = balancer.model("detector")
    balancer.set_replicas(model, [(balancer.server("10.0.0.1:8001"), 0.0)])
    ticket, server = balancer.send(model, now_ns, due_ns)
    balancer.answered(ticket, later_ns)
"""

from surplus.routing._balancer import Balancer, Failure, ServerCounts, failure_of

__all__ = ["Balancer", "Failure", "ServerCounts", "failure_of"]
