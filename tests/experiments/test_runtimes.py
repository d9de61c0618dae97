import pytest

from excalibr._experiments.runtimes import Runtimes, time_methods
from excalibr._experiments.study import Study
from tests.experiments.invented import small_plan


@pytest.fixture(scope="module")
def times(study: Study) -> Runtimes:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("excalibr._experiments.runtimes._solvers", lambda: ("highs", "highs"))
        return time_methods(study, small_plan(timed_users=1), lambda *_: None)


def test_every_method_is_timed_on_the_same_users_and_trade_offs(times: Runtimes) -> None:
    asked = {(call.attribute, call.user, call.trade_off) for call in times.calls}
    assert len(asked) == 3 * 1 * 3
    for method in ("reduced", "full", "greedy", "mip-greedy", "excalibr"):
        assert {(call.attribute, call.user, call.trade_off) for call in times.calls if call.method == method} == asked


def test_program_and_decomposition_add_up(times: Runtimes) -> None:
    for call in times.calls:
        assert call.seconds == pytest.approx(call.program + call.decomposition)
        assert call.seconds > 0
        assert (call.decomposition > 0) == (call.method in ("reduced", "full"))


def test_the_papers_program_and_our_solver_agree(times: Runtimes) -> None:
    assert times.disagreement() < 1e-6


def test_the_table_can_be_read_back(times: Runtimes) -> None:
    assert Runtimes.from_columns(times.columns()).calls == times.calls
