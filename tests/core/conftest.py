import pytest

from surplus.engine._core import DeviceOptions, Machine


@pytest.fixture
def machine():
    machine = Machine([DeviceOptions(kind="cpu", name="cpu", lanes=2)])
    yield machine
    machine.close()
