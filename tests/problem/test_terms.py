import pytest

from excalibr import Band
from excalibr.errors import ExcalibrError


def test_a_band_must_be_one() -> None:
    with pytest.raises(ExcalibrError, match="of category 1 are 0.5 and 0.4, must have low ≤ high"):
        Band([0.1, 0.5], [0.2, 0.4])
