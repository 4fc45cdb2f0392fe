"""Every case that a library is asked."""

from __future__ import annotations

from itertools import chain

from surplus.engine.kernels.conformance.cases.case import Case as Case
from surplus.engine.kernels.conformance.cases.elementwise import elementwise_cases
from surplus.engine.kernels.conformance.cases.moving import moving_cases
from surplus.engine.kernels.conformance.cases.networks import network_cases
from surplus.engine.kernels.conformance.cases.rows import row_cases


def all_cases() -> list[Case]:
    """In an order that does not change."""
    return list(chain(elementwise_cases(), moving_cases(), row_cases(), network_cases()))
