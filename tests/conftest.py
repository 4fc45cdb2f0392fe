"""Makes the modules of this folder importable, and tests of properties bear a busy machine.

Hypothesis fails an example that takes over 200 ms, and a test whose examples are slow to draw:
both are so where other programs hold the cores, and say nothing of the code.
"""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")
