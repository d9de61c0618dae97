"""The table of options and scales: at every scale every option is solved as exactly as it says."""

from __future__ import annotations

import pytest

from tests.fuzz import scales

BUDGETS = ("`relevance_loss`", "`max_deviation`")


@pytest.mark.parametrize("divergence", ["l1", "kl"])
@pytest.mark.parametrize("name", [name for name in scales.OPTIONS if name != "plain at λ = 0.5"])
def test_every_option_is_solved_to_the_tolerance_at_every_scale(
    name: str, divergence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scales, "PROBLEMS", 2)
    for scale in scales.SCALES:
        allowed = (
            1e-4 if name in BUDGETS and scale == 1e12 else 1e-9
        )  # there a double cannot tell λ from its neighbours
        assert scales.largest(scales.OPTIONS[name], scale, divergence) <= allowed
