"""What ``engine serve`` tells a policy for several models."""

from __future__ import annotations

import argparse

from surplus.engine.cli import serve
from surplus.engine.cli.serve_policy import asked


def _asked(*words: str) -> dict[str, object]:
    parser = argparse.ArgumentParser()
    serve.add_parser(parser.add_subparsers())
    found = asked(parser.parse_args(["serve", "models/", *words]))
    assert found is not None
    return dict(found.policy.options)


def test_weights_are_what_queries_are_worth() -> None:
    words = ("--policy", "surplus", "--slo", "a=1s", "--option", "guarantee=0.9")
    assert _asked(*words) == {"guarantee": 0.9}
    worth = ("--weight", "a=5", "--weight", "b=2.5")
    assert _asked(*words, *worth) == {"guarantee": 0.9, "weights": {"a": 5.0, "b": 2.5}}
