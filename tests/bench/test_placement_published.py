"""The bench of published instances, in a process of its own.

It loads OR-Tools, after which grpc_tools would end the process: each has a protobuf of its own.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_in_a_process_of_its_own() -> None:
    cases = Path(__file__).with_name("published_instances.py")
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", cases]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
