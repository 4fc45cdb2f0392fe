"""``python -m surplus.colocation.families NAME --seed S > S.toml``: a made-up scenario."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from surplus.colocation.families.family import Document
from surplus.colocation.families.normal_load import at_load, full_scale
from surplus.colocation.families.registry import SCENARIO_FAMILIES, family_document
from surplus.colocation.families.toml_text import toml_text
from surplus.colocation.frame.clock import NS_PER_S
from surplus.colocation.scenarios.scenario_file import scenario_of_document


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw a scenario and print its file.

    Returns
    -------
    int
        0, or 2 with a line that says which option is wrong.
    """
    asked = _parser().parse_args(arguments)
    try:
        document = family_document(asked.family, asked.seed)
        if asked.load is not None:
            document = _at(document, asked)
        print(toml_text(document), end="")
    except (ValueError, OSError) as error:
        print(f"families: error: {error}", file=sys.stderr)
        return 2
    return 0


def _at(document: Document, asked: argparse.Namespace) -> Document:
    """The document at a part of what anybody could hold."""
    if not 0 < asked.load < 100 or asked.queries < 1:
        raise ValueError(f"0 < load < 100, queries >= 1, got {asked.load} and {asked.queries}")
    scenario = scenario_of_document(document, asked.models, asked.data)
    scale = asked.load * full_scale(scenario, asked.queries)
    scaled = at_load(scenario, scale, asked.queries)
    services = [{**own, "load": _times(own["load"], scale)} for own in document["service"]]
    return {**document, "duration_s": scaled.duration_ns / NS_PER_S, "service": services}


def _times(load: Document, scale: float) -> Document:
    """A load with its rates times a factor."""
    if "rates_per_s" in load:
        return {**load, "rates_per_s": [rate * scale for rate in load["rates_per_s"]]}
    return {**load, "rate_per_s": load["rate_per_s"] * scale}


def _parser() -> argparse.ArgumentParser:
    lines = "\n".join(f"  {name:10} {own.summary}" for name, own in SCENARIO_FAMILIES.items())
    parser = argparse.ArgumentParser(
        prog="python -m surplus.colocation.families",
        description="Print a scenario of a family, the same for the same options.",
        epilog=f"families:\n{lines}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("family", choices=tuple(SCENARIO_FAMILIES), metavar="NAME", help="one of those below")
    add("--seed", type=int, default=0, metavar="S", help="of all that is random (%(default)s)")
    text = "times the rate at which the clairvoyant bound falls below 99 %% (default: as drawn)"
    add("--load", type=float, metavar="X", help=text)
    add("--queries", type=int, default=2000, metavar="N", help="with --load: how many there are")
    add("--data", type=Path, metavar="DIR", help="the folder that {data} means")
    add("--models", type=Path, default=Path(), metavar="DIR", help="where trained models are")
    return parser


if __name__ == "__main__":
    sys.exit(main())
