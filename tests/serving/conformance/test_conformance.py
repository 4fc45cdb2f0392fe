"""Every face gives the same answers and statuses: those that the cases say."""

import pytest

from tests.serving.conformance.all_cases import CASES
from tests.serving.conformance.case import Case
from tests.serving.conformance.clients import CLIENTS

ASKED = [(face, case) for face in CLIENTS for case in CASES if case.is_for(face)]


@pytest.mark.parametrize(("face", "case"), ASKED, ids=[f"{f}-{c.name}" for f, c in ASKED])
def test_the_answer_is_the_same_over_every_face(clients, face: str, case: Case):
    assert case.run(clients[face]) == case.expected


def test_cases_have_names_of_their_own():
    assert len({case.name for case in CASES}) == len(CASES)
