"""Makes the modules of this folder importable, and tests of properties bear a busy machine.

Hypothesis fails an example that takes over 200 ms, and a test whose examples are slow to draw:
both are so where other programs hold the cores, and say nothing of the code.
"""

import gc
import os
import signal

from hypothesis import HealthCheck, settings

# Most tests are about the plan that is measured; those of the first answers say "background".
os.environ["SURPLUS_TUNE"] = "now"

# The same of whose kernels: tests of other libraries than ONNX Runtime name them.
os.environ["SURPLUS_KERNELS"] = "onnxruntime"

# Other processes of this user are no part of a test, nor are tests that run beside it.
os.environ["SURPLUS_BROKER"] = "off"

# Who starts the tests in the background of a script has them ignore Ctrl-C, and what they start
# would inherit that: tests of Ctrl-C then wait in vain.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")


def pytest_collection_finish() -> None:
    """No search for cycles walks through all tests and modules, of which there are many."""
    gc.collect()
    gc.freeze()
