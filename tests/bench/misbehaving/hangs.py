"""Never ends, nor does what it started."""

import signal
import subprocess
import sys


def measure(spec: object, setting: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.run([sys.executable, "-c", "import signal; signal.pause()"], check=True)
