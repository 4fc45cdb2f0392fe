"""The file that docs/how_to/deploy_cluster.md shows is one."""

from __future__ import annotations

import re
from pathlib import Path

from surplus.engine.deployment.cluster_file import read_cluster_file

PAGE = Path(__file__).parents[2] / "docs/how_to/deploy_cluster.md"


def test_the_file_that_is_shown_is_read(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    path = tmp_path / "CLUSTER.toml"
    path.write_text(text)
    file = read_cluster_file(path)
    assert file.kinds["small"].serve == ("--devices", "cpu:4")
    assert file.models["resnet50"].versions == (3,)
