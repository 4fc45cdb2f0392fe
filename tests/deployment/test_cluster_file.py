"""What a cluster's file may say, and what is refused, by name and amount."""

from __future__ import annotations

from pathlib import Path

import pytest

from surplus.engine.deployment.cluster_file import read_cluster_file
from surplus.engine.errors import ConfigError
from tests.deployment.settings import cluster_file, model_table


def test_a_file_becomes_what_planners_know(tmp_path: Path) -> None:
    more = "versions = [1, 2]\nfirst_answer_s = 5"
    file = read_cluster_file(cluster_file(tmp_path, model_table("net", 3, 10, more)))
    (kind,) = file.node_kinds
    assert (kind.name, kind.devices, kind.memory_bytes) == ("cpu", 1, 64 << 20)
    assert kind.fixed_load_ns == 100_000_000
    (model,) = file.cluster_models
    assert model.name == "net"
    assert model.service.slo_ns == 200_000_000
    assert model.service.memory_bytes == 1 << 20
    assert model.latency_ns("cpu", 1, 100) == 10_000_000
    assert model.latency_ns("cpu", 1, 50) == 20_000_000
    assert model.first_answer_ns == 5_000_000_000
    assert file.models["net"].versions == (1, 2)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('name = "test"', 'name = "a/b"', "name must be of letters"),
        ('name = "test"', "", "name"),
        ("window_s = 1", "window_s = 0", "window_s must be > 0"),
        ("window_s = 1", "windows_s = 1", "'windows_s' is unknown"),
        ("slo_ms = 200", "slo_ms = 5", "fits no kind of node: 'cpu': a query takes 10 ms"),
        ("slo_ms = 200", 'slo_ms = "x"', "slo_ms"),
        ('memory = "1MiB"', 'memory = "65MiB"', "needs 68157440 bytes of 67108864"),
        ('memory = "1MiB"', 'memory = "much"', "models.net: "),
        ("profiles.cpu", "profiles.gpu", "models.net.profiles: there is no kind 'gpu'"),
        ("fixed_ns = 0", "fixd_ns = 0", "models.net: profile 'affine'"),
        ("load_s = 0.1", "devices = 0", "devices must be >= 1, got 0"),
        ("rate_per_s = 1.0", "rate_per_s = -1", "models.net: rate_per_s must be >= 0, got -1"),
        (
            "window_s = 1",
            'planner = "none"',
            "unknown cluster planner 'none'; there are: ",
        ),
    ],
)
def test_what_is_refused(tmp_path: Path, before: str, after: str, message: str) -> None:
    path = cluster_file(tmp_path, model_table("net"))
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))
    with pytest.raises(ConfigError) as error:
        read_cluster_file(path)
    assert message in str(error.value)
    assert str(path) in str(error.value)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        read_cluster_file(tmp_path / "none.toml")
