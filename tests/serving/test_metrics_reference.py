"""docs/reference/metrics.md names every metric, as the catalogue has it."""

from __future__ import annotations

from pathlib import Path

from surplus.engine.serving.metrics.catalogue import CATALOGUE, PROCESS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"


def test_the_page_is_as_the_catalogue() -> None:
    rows = [
        f"| `{one.name}` | {one.kind} | {', '.join(one.labels)} | {one.text} |" for one in CATALOGUE
    ]
    rows += [f"| `{name}` | {kind} |  | of the server's process |" for name, kind in PROCESS]
    wanted = "\n".join(rows)
    assert wanted in PAGE.read_text(), f"its table must be:\n{wanted}"
