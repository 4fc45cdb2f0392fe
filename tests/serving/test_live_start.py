"""What changes while a server starts is noticed when it serves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.deployment.client import ask
from tests.deployment.settings import save_version
from tests.deployment.waiting import wait_for
from tests.isolation.served import Serving

CHANGES = """
import sys
from pathlib import Path
from surplus.engine.cli.main import main
from surplus.engine.repository import layout

read = layout.find_models
made, into, *words = sys.argv[1:]

def find_models(*roots, **options):
    found = read(*roots, **options)
    Path(made).rename(into)
    return found

layout.find_models = find_models
sys.exit(main(["serve", *words]))
"""


def test_files_that_change_right_behind_their_reading_are_loaded(tmp_path: Path) -> None:
    save_version(tmp_path / "repository", "net", 1)
    made = save_version(tmp_path / "made", "net", 2)
    words = [str(tmp_path / "repository"), "--devices", "cpu:1", "--host", "127.0.0.1"]
    words += ["--model-control-mode", "poll", "--repository-poll-s", "0.1"]
    words += ["--port", "0", "--http-port", "0", "--no-metrics"]
    moved = [str(made), str(tmp_path / "repository/net/2")]
    command = [sys.executable, "-c", CHANGES, *moved, *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    with subprocess.Popen(command, text=True, env=environment, **pipes) as process:
        try:
            http = Serving(process).wait_for(r"HTTP: http://(\S+)/v2\n")[1]
            wait_for(lambda: ask(http, "net", 3.0) == 2.0, "the version that came meanwhile")
        finally:
            process.terminate()
