"""What of an error's text is for clients: all but where files lie on this server."""

from __future__ import annotations

import logging
import re
from pathlib import Path

from surplus.engine.printable import printable

_log = logging.getLogger(__name__)

_ABSOLUTE = re.compile(r"(?<![\w.~-])(/[^/\s'\"`:;,()\[\]<>]+)((?:/[^/\s'\"`:;,()\[\]<>]+)*)/?")


def without_paths(text: str) -> str:
    """The text with each file of this server named by its last part alone, safe for a terminal.

    Names in models may begin with a slash, too: a path is what begins in a folder that there is.
    """
    return printable(_ABSOLUTE.sub(_last_part, text))


def text_for_clients(error: BaseException) -> str:
    """What an error says, without paths; the log has the whole text then."""
    whole = str(error)
    text = without_paths(whole)
    if text != printable(whole):
        _log.warning("a client is told less than: %s", whole)
    return text


def _last_part(found: re.Match[str]) -> str:
    if not Path(found[1]).is_dir():
        return found[0]
    return Path(found[0]).name
