"""No test is timed: hypothesis's deadline would fail on the first compilation or on a busy machine."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
