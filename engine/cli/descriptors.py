"""File descriptors of a server: each connection takes one."""

from __future__ import annotations

import logging
import resource

_log = logging.getLogger(__name__)

_MOST = 1 << 20
_OWN = 64  # at the least what a server opens besides: models, cache, trials, event loops
_OWN_PART = 4  # of all, where that is more
_FACES = 2
_FEWEST_CONNECTIONS, _MOST_CONNECTIONS = 8, 4096


def use_all_descriptors() -> int:
    """Raise the limit of open files as far as the process may; returns what it is then.

    Systems set it to 1024 for the sake of programs that use select(). Whoever opens so many
    connections and says nothing would keep all others from being accepted, health checks too.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST if hard == resource.RLIM_INFINITY else min(hard, _MOST)
    if wanted > soft:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError) as error:
            _log.info("the limit of open files stays %d: %s", soft, error)
            return soft
    return max(soft, wanted)


def connections_of(limit: int) -> int:
    """How many connections each of gRPC and HTTP may hold, so that enough is left for the rest.

    Parameters
    ----------
    limit : int
        Of open files.
    """
    own = max(_OWN, limit // _OWN_PART)
    return min(_MOST_CONNECTIONS, max(_FEWEST_CONNECTIONS, (limit - own) // _FACES))
