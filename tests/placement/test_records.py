"""Files are read as declared types by several threads at once."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys, threading
from dataclasses import make_dataclass
from surplus.placement.records import read_value

sys.setswitchinterval(1e-6)
raw = {f"f{i}": {f"i{j}": [1] for j in range(20)} for i in range(20)}
for _ in range(40):
    inner = make_dataclass("Inner", [(f"i{j}", "list[int]") for j in range(20)])
    kind = make_dataclass("Record", [(f"f{i}", inner) for i in range(20)])
    start = threading.Barrier(4)

    def read():
        start.wait()
        assert read_value(kind, raw, "record").f19.i19 == [1]

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_a_type_may_be_read_first_by_several_threads() -> None:
    """In a process of its own: without a lock it ends by SIGSEGV."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], check=False, timeout=300)
    assert done.returncode == 0
