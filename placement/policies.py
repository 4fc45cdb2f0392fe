"""Every placement policy, registered by being imported."""

from __future__ import annotations

from surplus.placement import balance, baseline, best, comm_sd, heft, qd, robust, sd

ORDER = tuple(m.__name__ for m in (baseline, qd, sd, comm_sd, heft, best, balance, robust))
"""The paper's order, which is that of every table, whichever was imported first."""
