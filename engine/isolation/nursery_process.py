"""The process that forks workers. It imports all that they need, and never starts a thread."""

from __future__ import annotations

import errno
import os
import select
import signal
import socket
import sys

_FORK_BYTES = 64
_MOST_DESCRIPTORS = 4
_WAIT_S = 1.0


def main() -> None:
    """Fork when asked, until nobody can ask any more; then end every worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asked = socket.socket(fileno=int(sys.argv[1]))
    from surplus.engine.isolation import worker
    from surplus.engine.native import load_runtime
    from surplus.engine.pipeline import first_answer, opening  # noqa: F401  # the first load does

    load_runtime()
    children: dict[int, int] = {}  # a descriptor of each process
    while True:
        data, descriptors, _, _ = socket.recv_fds(asked, _FORK_BYTES, _MOST_DESCRIPTORS)
        if not data:
            break
        if data != b"fork":
            asked.send(str(_status_of(int(data.split()[1]), children)).encode())
            continue
        try:
            process = os.fork()
        except OSError as error:
            asked.send(str(-(error.errno or errno.EAGAIN)).encode())
            continue
        if process == 0:
            asked.close()
            for descriptor in children.values():
                os.close(descriptor)
            worker.main(*descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        children[process] = os.pidfd_open(process)
        asked.send(str(process).encode())
    for process, descriptor in children.items():
        os.kill(process, signal.SIGKILL)
        os.close(descriptor)
        os.waitpid(process, 0)


def _status_of(process: int, children: dict[int, int]) -> int:
    """A worker's exit status, negative for a signal; it is ended if it has not ended.

    Nothing is known of one that a process before this one had forked.
    """
    descriptor = children.pop(process, -1)
    if descriptor < 0:
        return 0
    if not select.select([descriptor], [], [], _WAIT_S)[0]:
        os.kill(process, signal.SIGKILL)
    os.close(descriptor)
    _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    main()
