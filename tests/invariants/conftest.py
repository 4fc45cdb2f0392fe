"""Models of this folder, read once a session."""

from __future__ import annotations

import pytest

from tests.invariants.random_models import Reader


@pytest.fixture(scope="session")
def read(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """Reads a model through a cache of this session."""
    return Reader(tmp_path_factory.mktemp("random"))
