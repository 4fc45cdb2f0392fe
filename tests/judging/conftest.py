"""Fixtures of plans of one model."""

from tests.runtime.conftest import cut as cut
from tests.runtime.conftest import graph as graph
from tests.runtime.conftest import machine as machine
from tests.runtime.conftest import narrow as narrow
from tests.runtime.conftest import wide as wide
