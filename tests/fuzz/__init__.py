"""The project's own fuzz: questions at every scale with every option, and an independent check of what comes back.

Nothing in here knows the library's private modules: questions go in by the public functions, and answers are recomputed
from the method's formulas in extended precision. ``python -m tests.fuzz --help`` says how to run it.
"""
