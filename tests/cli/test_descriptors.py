"""A server takes as many file descriptors as it may."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from surplus.engine.cli.descriptors import connections_of, use_all_descriptors

LIMITED = """
import resource
from surplus.engine.cli.descriptors import connections_of, use_all_descriptors
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 300))
print(use_all_descriptors(), resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def test_the_limit_is_raised_as_far_as_it_may() -> None:
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True)
    assert done.stdout == "300 (300, 300)\n", done.stderr


def test_a_limit_that_cannot_be_raised_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ValueError("not allowed to raise maximum limit")

    monkeypatch.setattr(resource, "getrlimit", lambda _: (100, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert use_all_descriptors() == 100


@pytest.mark.parametrize(("limit", "connections"), [(64, 8), (200, 68), (1024, 384), (2**20, 4096)])
def test_connections_leave_descriptors_to_the_rest(limit: int, connections: int) -> None:
    assert connections_of(limit) == connections
