"""The examples of docs/rectools.md, on invented interactions and with a classifier of five lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("rectools")

from tests.pages.running import run_page
from tests.rectools.invented import dataset, interactions


class Classifier:
    """How probable a positive is by the first stage's score, as far as a test needs."""

    def fit(self, **_: Any) -> Classifier:
        return self

    def predict_proba(self, features: pd.DataFrame) -> Any:
        chance = 1.0 / (1.0 + np.exp(-features.filter(like="score").iloc[:, 0].to_numpy(float)))
        return np.column_stack([1.0 - chance, chance])


@pytest.mark.filterwarnings("ignore")  # of RecTools and of what it uses
def test_every_example_of_the_page_runs(tmp_path: Path) -> None:
    past = interactions()
    given = {"dataset": dataset(), "users": [7, 3, 12, 1], "classifier": Classifier(), "train": past, "held_out": past}
    names = run_page("docs/rectools.md", tmp_path, given).names
    assert names["reco"].groupby("user_id").size().tolist() == [10] * 4
