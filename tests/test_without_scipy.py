"""The core needs no scipy: what does says which extra brings it."""

import subprocess
import sys

WITHOUT = """
import sys
sys.modules["scipy"] = sys.modules["threadpoolctl"] = None
import numpy as np
import pyarrow as pa
from excalibr import *
import excalibr
from excalibr.errors import MissingExtraError

arrays = ([0.9, 0.8, 0.5, 0.4], [[1, 0], [1, 0], [0, 1], [0, 1]], [0.5, 0.5])
for options in ({}, {"divergence": "kl"}, {"draws": "even"}, {"max_per_category": 1}, {"method": "greedy"}):
    assert excalibr.calibrate(*arrays, k=2, **options).rankings.shape[1] == 2
named = excalibr.calibrate(arrays[0], {"genre": arrays[1]}, {"genre": arrays[2]}, k=2)
assert named.explain().relevance_kept > 0.0
assert len(excalibr.calibrate_path(*arrays, k=2, trade_offs=[0.1, 0.9])) == 2
assert len(excalibr.frontier(*arrays, k=2)) >= 1
assert len(excalibr.calibrate_batch(arrays[0] * 2, [0, 4, 8], arrays[1] * 2, arrays[2], k=2, threads=2)) == 2
assert excalibr.targets.history(arrays[1], [0, 2], weights=[3, 1]).tolist() == [0.75, 0.25]

candidates = pa.table({"user_id": ["a"] * 4, "item_id": [1, 2, 3, 4], "score": arrays[0]})
items = pa.table({"item_id": [1, 2, 3, 4], "category": ["x", "x", "y", "y"], "age": ["old", "new", "old", "new"]})
history = pa.table({"user_id": ["a", "a"], "item_id": [1, 3], "timestamp": [0, 5]})
for category in ("category", ["category", "age"]):
    asked = {"history": history, "half_life": 5.0, "category": category}
    assert len(excalibr.Reranker(k=2).rerank(candidates, items, **asked)) == 2

class Sparse:  # anything that can turn into sparse rows
    shape, indptr, indices, data = (4, 2), [0, 1, 2, 3, 4], [0, 0, 1, 1], [1.0, 1.0, 1.0, 1.0]
    def tocsr(self):
        return self
assert excalibr.calibrate(arrays[0], Sparse(), arrays[2], k=2).objective == excalibr.calibrate(*arrays, k=2).objective

def refused(call):
    try:
        call()
    except MissingExtraError as error:
        return str(error)
told = "scipy is not installed. Hint: pip install 'excalibr[scipy]'."
assert refused(lambda: excalibr.calibrate(*arrays, k=2, method="lp")) == told
assert excalibr.calibrate(*arrays, k=2, method="mip-greedy").rankings.shape == (1, 2)  # one category each: no program
mixed = [[0.5, 0.5], *arrays[1][1:]]
assert refused(lambda: excalibr.calibrate(arrays[0], mixed, arrays[2], k=2, method="mip-greedy")) == told
assert refused(lambda: excalibr.paper.birkhoff(np.full((2, 2), 0.5))) == told
assert refused(lambda: excalibr.models.EASE.fit([[1, 0], [1, 1]])) == told
print("fine")
"""


def test_everything_but_what_is_scipys_works_without_it() -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", WITHOUT], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("fine", "")
