"""A study of placement policies as one page to look around in, without external resources."""

from __future__ import annotations

import html
from collections.abc import Sequence
from importlib.resources import files

from surplus.engine.report.gantt_html import script_safe
from surplus.engine.report.palette import COLOURS
from surplus.placement.study import StudyRow


def study_page(rows: Sequence[StudyRow], title: str) -> str:
    """Performance profiles, one policy against another, a table; equal rows give equal text."""
    data = {
        "rows": [row.to_dict() for row in rows],
        "policies": list(dict.fromkeys(row.policy for row in rows)),
        "families": list(dict.fromkeys(row.family for row in rows)),
        "colours": list(COLOURS),
    }
    page = files("surplus.engine.report").joinpath("study.html").read_text(encoding="utf-8")
    # Split first, so that no name can be taken for a mark.
    before, _, after = page.partition("<!--DATA-->")
    return before.replace("<!--TITLE-->", html.escape(title)) + script_safe(data) + after
