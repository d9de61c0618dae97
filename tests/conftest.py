"""Settings that all tests share."""

from __future__ import annotations

from hypothesis import settings

# Machines that run tests are busy with other things: a deadline for each example would measure that.
settings.register_profile("excalibr", deadline=None)
settings.load_profile("excalibr")
