"""A process that works for this one is none of its children."""

from __future__ import annotations

import os
import select
import sys
from pathlib import Path

import pytest

from surplus.engine.detached_process import DetachedProcess

ECHO = "import sys; sys.stdout.write(sys.stdin.read())"
WAITS = "import sys; print('there', flush=True); sys.stdin.read()"


def test_it_is_asked_and_answers() -> None:
    with DetachedProcess([sys.executable, "-c", ECHO]) as process:
        process.stdin.write("Grüße".encode())
        process.stdin.close()
        assert process.stdout.read().decode() == "Grüße"
        assert process.wait(60)


def test_who_waits_for_all_children_never_hears_of_it() -> None:
    before = set(Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split())
    with DetachedProcess([sys.executable, "-c", WAITS]) as process:
        assert process.stdout.readline() == b"there\n"
        children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
        assert str(process.pid) not in children
        assert set(children) == before
        process.kill()
        assert process.wait(60)


def test_it_is_killed_at_the_end_of_the_block() -> None:
    with DetachedProcess([sys.executable, "-c", WAITS]) as process:
        assert process.stdout.readline() == b"there\n"
        ended = os.pidfd_open(process.pid)
    os.set_blocking(ended, False)
    os.close(ended)
    assert process.stdin.closed
    assert process.stdout.closed


def test_its_environment_says_how_deep_it_is() -> None:
    code = "import os; print(os.environ['SURPLUS_DEPTH'], os.environ['OWN'])"
    with DetachedProcess([sys.executable, "-c", code], {"OWN": "thing"}) as process:
        assert process.stdout.read() == b"1 thing\n"


def test_what_it_has_forked_ends_with_it() -> None:
    # In one write: print makes two where Python does not buffer, and these would mix.
    code = "import os, time; os.fork(); os.write(1, b'%d\\n' % os.getpid()); time.sleep(600)"
    with DetachedProcess([sys.executable, "-c", code]) as process:
        forked = [os.pidfd_open(int(process.stdout.readline())) for _ in range(2)]
        process.kill()
        for ended in forked:
            assert select.select([ended], [], [], 60)[0]
            os.close(ended)


def test_descriptors_do_not_leak_into_it(tmp_path: Path) -> None:
    with (tmp_path / "held").open("w") as held:
        code = f"import os; print(os.path.exists('/proc/self/fd/{held.fileno()}'))"
        with DetachedProcess([sys.executable, "-c", code]) as process:
            assert process.stdout.read() == b"False\n"


def test_a_program_that_is_not_there_is_an_error_and_leaves_nothing_open() -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    with pytest.raises(FileNotFoundError, match="/nope"):
        DetachedProcess(["/nope"])
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
