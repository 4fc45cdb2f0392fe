import pytest

from surplus.engine.devices.memory_size import parse_bytes
from surplus.engine.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4096", 4096),
        ("1B", 1),
        ("4GiB", 4 << 30),
        ("1.5 GiB", 3 << 29),
        ("500MB", 500_000_000),
        ("66kB", 66_000),
        ("0.1kB", 100),
        ("2TiB", 2 << 40),
    ],
)
def test_sizes(text, size):
    assert parse_bytes(text) == size


@pytest.mark.parametrize(
    "text", ["", "GiB", "4 gib", "4gb", "-1", "1e9", "4  GiB", "4GiB ", "1,5GiB", ".5GiB", "inf"]
)
def test_what_is_no_size_is_refused(text):
    with pytest.raises(ConfigError, match="not understood: a number and one of"):
        parse_bytes(text)


@pytest.mark.parametrize("text", ["0", "0.5B", "0GiB"])
def test_nothing_is_no_size(text):
    with pytest.raises(ConfigError, match="less than a byte"):
        parse_bytes(text)
