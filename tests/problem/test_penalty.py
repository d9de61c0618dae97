from tests.problem.test_problem import problem


def test_the_penalty_is_the_trade_off_on_both_sides_of_the_target() -> None:
    penalty = problem(trade_off=0.25).penalty
    assert penalty.low.tolist() == penalty.high.tolist() == [0.4, 0.6]
    assert penalty.below.tolist() == penalty.above.tolist() == [0.25, 0.25]
