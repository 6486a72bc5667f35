"""What holds for every test."""

from hypothesis import HealthCheck, settings

settings.register_profile("stretto", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("stretto")
"""No example is timed: machines are shared, and a slow one is no mistake."""
