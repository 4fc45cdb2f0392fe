"""Models on several machines: a server of ours on each (docs/how_to/deploy_cluster.md).

::

    controller      looks at nodes, plans by surplus.cluster, says what each is to serve
      planning        rates, autoscaler, plan; again as nodes come and go
      handover        what is new serves before what is old stops
      rollouts        other versions, one node after the other
      roster          the nodes' agents and what they said last
    machines        where agents run: on Ray, or in this process
    node_agent      on each node: its copies of models, and its server
    resolver        tells clients addresses by model

Queries never come here: clients ask the nodes' servers.
"""
