"""Every placement policy, registered by being imported."""

from __future__ import annotations

from surplus.placement import (
    anneal,
    auto,
    balance,
    baseline,
    best,
    comm_sd,
    cpop,
    descent,
    getf,
    heft,
    hoft,
    lookahead,
    peft,
    qd,
    robust,
    sd,
)

_LISTS = (heft, cpop, peft, lookahead, hoft, getf)

ORDER = tuple(
    m.__name__
    for m in (baseline, qd, sd, comm_sd, *_LISTS, best, descent, auto, anneal, balance, robust)
)
"""The paper's order, which is that of every table, whichever was imported first."""
