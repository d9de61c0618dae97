import pytest

from excalibr import calibrate
from excalibr.errors import ExcalibrError


def test_shares_in_several_categories_cannot_be_counted() -> None:
    with pytest.raises(ExcalibrError, match="row 0 has only a share, must have one category an item"):
        calibrate([1.0, 0.5], [[0.5, 0.5], [1.0, 0.0]], [0.5, 0.5], k=1, max_per_category=1)
