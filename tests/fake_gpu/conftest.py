"""The fake GPU, compiled once."""

from __future__ import annotations

import pytest

from tests.fakes.gpu import FakeGpu, compiled


@pytest.fixture(scope="session")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> FakeGpu:
    return compiled(tmp_path_factory.mktemp("fake_gpu"))
