"""The shipped scenarios of Abacus read, and its policies run on them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from surplus.colocation import compare, read_scenario

CONFIGS = Path(__file__).parents[2] / "bench" / "configs" / "colocation"
OPERATORS = {"resnet50": 18, "resnet101": 35, "resnet152": 52, "inception_v3": 14}
OPERATORS |= {"vgg16": 19, "vgg19": 22, "bert": 12}
FILES = sorted([*(CONFIGS / "abacus_pairs").glob("*.toml"), *(CONFIGS / "abacus_many").glob("*")])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made-up times of every model alone, in the format of the published measurements."""
    folder = tmp_path_factory.mktemp("data")
    lines = [",".join(["model", "start", "end", "bs", "seq_len"] * 2 + ["median", "mean", "var"])]
    for model, count in OPERATORS.items():
        for batch in (4, 8, 16, 32):
            for length in (8, 16, 32, 64) if model == "bert" else (0,):
                lines.append(f"{model},0,{count},{batch},{length},other,0,0,4,0,9000,9000,90")
    (folder / "made_up.csv").write_text("\n".join(lines) + "\n")
    return folder


def test_all_of_the_papers_sets_are_there() -> None:
    assert len(FILES) == 21 + 4 + 1


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_scenario_runs(path: Path, data: Path) -> None:
    scenario = replace(read_scenario(path, data), duration_ns=500_000_000)
    load, compared = compare(scenario, ["abacus", "abacus_pipelined"])
    for one in compared:
        assert one.summary.total.offered == len(load) > 5
        assert one.summary.total.in_time > 0
