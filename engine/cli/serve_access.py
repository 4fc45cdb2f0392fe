"""``engine serve --tokens``: who may do what (docs/how_to/tokens.md)."""

from __future__ import annotations

import argparse
from typing import Any

from surplus.engine.errors import ConfigError
from surplus.engine.serving.loopback import is_loopback


def add_access(parser: argparse.ArgumentParser) -> None:
    """--tokens and --open."""
    add = parser.add_argument
    add(
        "--tokens",
        default="",
        metavar="FILE.toml",
        help="let in only who has a token, or a certificate, of this file, for what it says; read"
        " again when it changes (engine token writes it)",
    )
    add(
        "--open",
        metavar="RIGHT,...",
        help="what needs no token all the same: health, infer, metadata, statistics, shared-memory,"
        " settings; 'none' for nothing (default health)",
    )


def access_params(args: argparse.Namespace) -> dict[str, Any]:
    """What ``ServerParams`` has of it; reads the file, to say what is wrong before models load.

    Raises
    ------
    ConfigError
        If something in it is, or clients of other machines could take out models without one.
    """
    from surplus.engine.serving.rights import Right
    from surplus.engine.serving.tokens_file import read_tokens, rights_of

    is_explicit = args.model_control_mode == "explicit"
    if (is_explicit or args.model_control) and not args.tokens and not is_loopback(args.host):
        option = "--model-control-mode explicit" if is_explicit else "--model-control"
        raise ConfigError(
            f"{option} and --host {args.host}: nobody may load and unload models there without a"
            " token: give --tokens"
        )
    if args.open is not None and not args.tokens:
        raise ConfigError(f"--open {args.open}: nothing needs a token without --tokens")
    if not args.tokens:
        return {}
    read_tokens(args.tokens)
    if args.open is None:
        return {"tokens": args.tokens}
    names = () if args.open == "none" else tuple(args.open.split(","))
    open_rights = rights_of(names, "--open")
    if Right.REPOSITORY in open_rights:
        raise ConfigError("--open repository: to load and unload needs a token whatever is open")
    return {"tokens": args.tokens, "open_rights": open_rights}
