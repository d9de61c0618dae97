"""What runs in the environment of a commit that is measured: scripts that need numpy and the public names of excalibr.

``python -m benchmarks.workers.NAME`` from the folder above, with the Python of either commit; nothing here imports
anything else of :mod:`benchmarks`, which is of the present tree alone.
"""
