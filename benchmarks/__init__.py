"""Ratios against every peer, measured in one run, and the page made from them.

``python -m benchmarks run`` measures and writes docs/benchmarks.md; see ``make bench``. The modules ``ease`` and
``lotteries`` are commands of their own, each with one subject.
"""
