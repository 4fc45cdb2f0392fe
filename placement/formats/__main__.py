"""``python -m surplus.placement.formats PROBLEM > P.json``: a problem file in our own format."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from surplus.placement.formats.options import add_problem_options, asked_file


def main(arguments: Sequence[str] | None = None) -> int:
    """Read a problem of any format and print it.

    Returns
    -------
    int
        0, or 2 with a line that says what is wrong with the file.
    """
    parser = argparse.ArgumentParser(
        prog="python -m surplus.placement.formats",
        description="Print a problem file in the format that docs/FORMATS.md describes.",
    )
    add_problem_options(parser)
    try:
        print(asked_file(parser.parse_args(arguments)).to_json())
    except (OSError, ValueError) as error:
        print(f"formats: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
