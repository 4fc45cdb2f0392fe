"""Every case of the suite."""

from __future__ import annotations

from tests.serving.conformance import (
    cases_classification,
    cases_refusals,
    cases_server,
    cases_shared_memory,
    cases_tensors,
)
from tests.serving.conformance.case import Case

CASES: list[Case] = [
    case
    for module in (
        cases_tensors,
        cases_refusals,
        cases_shared_memory,
        cases_classification,
        cases_server,
    )
    for case in module.cases.all
]
