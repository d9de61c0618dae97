from dataclasses import replace

import numpy as np
import pytest

from excalibr._experiments.comparison import SHARES, margins, rise
from excalibr._experiments.curves import COMPARED, KL
from excalibr._experiments.plan import PAPER_SETTING
from tests.experiments.test_claims import line

NDCG = COMPARED.index("ndcg")


def test_margins_are_taken_at_equal_kl() -> None:
    first, second = (line("genre", "log", PAPER_SETTING, "excalibr", loss) for loss in (0.0, 0.1))
    found = margins(first, second)
    assert found.values == pytest.approx(0.1 * (1 - SHARES))
    assert found.clear.tolist() == [1.0] * len(SHARES)
    assert margins(second, first).clear.tolist() == [-1.0] * len(SHARES)
    assert found.mean.value == pytest.approx(0.1 * (1 - SHARES).mean())


def test_a_difference_that_chance_can_make_is_none() -> None:
    first, second = (line("genre", "log", PAPER_SETTING, "excalibr", loss) for loss in (0.0, 0.1))
    first.own[:, :, NDCG] += np.random.default_rng(1).normal(0.0, 1.0, 9)[:, None]
    found = margins(first, second)
    assert not found.clear.any()
    assert found.mean.verdict.startswith("not clear: about ")


def test_what_differs_from_user_to_user_alike_for_both_does_not_count() -> None:
    first, second = (line("genre", "log", PAPER_SETTING, "excalibr", loss) for loss in (0.0, 0.1))
    alike = np.random.default_rng(1).normal(0.0, 1.0, 9)[:, None]
    for curve in (first, second):
        curve.own[:, :, NDCG] += alike
    assert margins(first, second).clear.tolist() == [1.0] * len(SHARES)


def test_a_sample_is_compared_on_its_own_users() -> None:
    everybody, other = (line("genre", "log", PAPER_SETTING, "excalibr", loss) for loss in (0.0, 0.1))
    everybody.own[4:, :, NDCG] = 0.0  # users that the sample does not have
    sample = replace(other, rows=np.arange(4), own=other.own[:4], users=4)
    assert margins(everybody, sample).values == pytest.approx(0.1 * (1 - SHARES))


def test_a_level_that_one_curve_does_not_reach_is_not_known() -> None:
    first, second = (line("genre", "log", PAPER_SETTING, "excalibr", 0.1) for _ in range(2))
    second.own[:, 3, COMPARED.index(KL)] = 0.04  # it stops at a share of 0.2
    assert np.isnan(margins(first, second).values).tolist() == [False] * 5 + [True] * 2


def test_a_rise_is_paired() -> None:
    curve = line("popularity", "log", PAPER_SETTING, "excalibr", -0.1)
    found = rise(curve, 3)
    assert found.value == pytest.approx(0.1)
    assert found.error == pytest.approx(0.0)
    assert found.users == 9
    assert found.verdict == "holds"
