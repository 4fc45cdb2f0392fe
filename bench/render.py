"""``python -m bench.render``: put the stored results into the pages of docs that show them.

A table stands between ``<!-- table NAME -->`` and ``<!-- end -->``; prose around it stays.
"""

from __future__ import annotations

import re
from pathlib import Path

from bench.infrastructure.result_file import markdown, path_of, read_document, rows_of

_DOCS = Path(__file__).parent.parent / "docs"
_NAMES = (
    "PERFORMANCE",
    "KERNELS",
    "COLOCATION",
    "COLOCATION_RESULTS",
    "CLUSTER",
    "reference/placement_policies",
)
PAGES = tuple(_DOCS / f"{name}.md" for name in _NAMES)
_TABLE = re.compile(r"<!-- table (\w+) -->\n.*?<!-- end -->", re.DOTALL)


def rendered(page: str) -> str:
    """The page with every table made anew from its JSON."""
    return _TABLE.sub(_table, page)


def _table(match: re.Match[str]) -> str:
    name = match.group(1)
    document = read_document(path_of(name))
    machine = document["machine"]
    origin = (
        f"{machine['date']}, {machine['processor']}, {machine['cores']} cores, ONNX Runtime"
        f" {machine['onnxruntime']}, commit {machine['commit']}"
    )
    table = markdown(rows_of(document))
    return f"<!-- table {name} -->\n{table}\n\n*{origin}*\n<!-- end -->"


def main() -> None:
    """Rewrite the pages."""
    for page in PAGES:
        page.write_text(rendered(page.read_text()))


if __name__ == "__main__":
    main()
