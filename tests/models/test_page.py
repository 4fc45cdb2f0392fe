"""docs/MODELS.md says of every model what the registry and the graphs say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from surplus import models
from tests.models.test_built import GRAPHS
from tests.models.weightless import weightless

PAGE = Path(__file__).parents[2] / "docs" / "MODELS.md"


def _tables() -> list[list[dict[str, str]]]:
    """Rows of each table, by column."""
    found = []
    for block in re.findall(r"(?:^\|.*\n?)+", PAGE.read_text(), re.MULTILINE):
        head, _, *rows = ([c.strip() for c in line.split("|")[1:-1]] for line in block.splitlines())
        found.append([dict(zip(head, row, strict=True)) for row in rows])
    return found


NETWORKS = [row for table in _tables() for row in table if "nodes" in row]
PARAMETERS = {row["name"]: row["parameters"] for t in _tables() for row in t if "parameters" in row}
OTHERS = [row for row in NETWORKS if "MB" in row]


def test_every_model_has_one_row() -> None:
    assert sorted(row["name"] for row in NETWORKS) == models.model_names()


@pytest.mark.parametrize("row", NETWORKS, ids=lambda row: row["name"])
def test_graphs_are_of_the_size_that_the_page_says(row: dict[str, str]) -> None:
    nodes, reads, readers, level = GRAPHS[row["name"]]
    degree_in, degree_out = map(int, row["degree in, out"].split(","))
    assert int(row["nodes"]) in nodes
    assert degree_in in reads
    assert degree_out in readers
    assert "level" not in row or int(row["level"]) in level


@pytest.mark.parametrize("row", OTHERS, ids=lambda row: row["name"])
def test_weights_are_as_many_as_the_page_says(
    row: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    count = weightless(row["name"], monkeypatch).parameters()
    assert row["weights"] == f"{count:,}"
    # Four bytes each; the rest of the file is the graph and its constants.
    assert 4 * count <= float(row["MB"]) * 1e6 + 50_000 <= 4 * count + 1_500_000


def test_parameters_are_those_of_the_registry() -> None:
    classifiers = {row["name"] for row in _tables()[0]}
    assert set(PARAMETERS) == set(models.model_names()) - classifiers
    for name, text in PARAMETERS.items():
        known = models.info(name).parameters.items()
        expected = ", ".join(f"`{key}={value}`" for key, value in known if key != "seed")
        assert text == (expected or "none")
