"""Settings that all tests share."""

from hypothesis import settings

# The first example compiles or loads the kernel: a deadline for each example would measure that.
settings.register_profile("excalibr", deadline=None)
settings.load_profile("excalibr")
