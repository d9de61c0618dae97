import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from excalibr.errors import InputError
from excalibr.models import top_items


@given(hnp.arrays(np.float64, (3, 12), elements=st.sampled_from([-1.0, 0.0, 0.5, 2.0])), st.integers(1, 12))
def test_ties_go_to_the_lower_index(scores: np.ndarray[tuple[int, int], np.dtype[np.float64]], n: int) -> None:
    top = top_items(scores, n)
    assert top.items.tolist() == np.argsort(-scores, axis=1, kind="stable")[:, :n].tolist()


def test_more_items_than_may_be_shown_are_refused() -> None:
    scores = np.array([[1.0, 2.0, 3.0], [1.0, -np.inf, 3.0]])
    with pytest.raises(
        InputError, match=r"n: is 3, must be at least 1 and at most the 2 items that can be shown \(row 1"
    ):
        top_items(scores, 3)
