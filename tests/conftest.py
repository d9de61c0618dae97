"""Settings that all tests share."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# Machines that run tests are busy with other things: a limit of time for an example, or for making it, measures that.
settings.register_profile("excalibr", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("excalibr")
