from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.subject import Subject

FORK_JOIN: dict[str, Any] = {"branches": 3, "depth": 2, "size": 16}


@pytest.fixture
def subject(tmp_path: Path) -> Subject:
    """A fork-join that nothing is known of yet."""
    return Subject.make(tmp_path, "fork_join", **FORK_JOIN)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    """A fork-join whose cache tests may fill."""
    return Subject.make(tmp_path_factory.mktemp("pipeline"), "fork_join", **FORK_JOIN)
