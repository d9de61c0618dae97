from dataclasses import replace

import numpy as np

from excalibr._experiments import ExperimentResults, Plan, Setting
from excalibr._experiments.claims import check_claims
from excalibr._experiments.curves import DEVIATIONS, RELEVANCE, Curves, MethodCurve, of_users
from excalibr._experiments.measures import METRICS
from excalibr._experiments.plan import PAPER_SETTING
from excalibr._experiments.runtimes import Call, Runtimes
from excalibr._experiments.study import Study

ATTRIBUTES = ("genre", "decade", "popularity")


def line(attribute: str, weighting: str, setting: Setting, arm: str, loss: float) -> MethodCurve:
    """A curve that loses ``loss`` of 0.4 NDCG and MRR on its way from KL 0.1 to 0."""
    kl = np.array([0.08, 0.05, 0.02, 0.0])
    value = 0.4 - loss * (0.1 - kl) / 0.1
    means = {name: np.zeros(4) for name in METRICS} | {"kl_of_expectation": kl, "ndcg": value, "mrr": value}
    start = dict.fromkeys(METRICS, 0.0) | {"kl_of_expectation": 0.1, "ndcg": 0.4, "mrr": 0.4}
    lambdas = np.array([0.1, 0.3, 0.5, 0.9])
    own = {name: np.tile(np.append(means[name], start[name]), (9, 1)) for name in (*DEVIATIONS, *RELEVANCE)}
    return MethodCurve(attribute, weighting, setting, arm, np.arange(9), lambdas, means, means, start, True, own)


def told(study: Study, loss: dict[str, float]) -> dict[str, str]:
    """Claim → verdict, where the arms lose so much."""
    settings = (PAPER_SETTING, Setting(100, 100), Setting(200, 100))
    places = [(a, w, s) for a in ATTRIBUTES for w in ("log", "reciprocal") for s in settings]
    curves = [line(*place, arm, value) for place in places for arm, value in loss.items()]
    results = ExperimentResults(Plan(), study, Curves(curves), None)
    return {claim.statement: claim.verdict for claim in check_claims(results)}


def verdict(found: dict[str, str], words: str) -> str:
    return next(value for said, value in found.items() if words in said)


def test_a_method_above_all_holds(study: Study) -> None:
    found = told(study, {"excalibr": 0.01, "greedy": 0.1, "greedy-simple": 0.2})
    assert verdict(found, "above every baseline") == "holds"
    assert verdict(found, "MRR behaves") == "holds"
    assert verdict(found, "Genre and year keep") == "holds"
    assert verdict(found, "n = 200") == "holds"
    assert verdict(found, "1/i weights") == "does not hold"


def test_a_method_below_all_does_not_hold(study: Study) -> None:
    found = told(study, {"excalibr": 0.2, "greedy": 0.01, "greedy-simple": 0.01})
    assert verdict(found, "above every baseline") == "does not hold"
    assert verdict(found, "Genre and year keep") == "does not hold"
    assert verdict(found, "Greedy simple") == "does not hold"
    assert verdict(found, "1/i weights") == "holds"


def test_the_weakest_comparison_decides(study: Study) -> None:
    found = told(study, {"excalibr": 0.05, "greedy": 0.01, "greedy-simple": 0.2, "mip-greedy": 0.2})
    assert verdict(found, "above every baseline") == "does not hold"
    assert verdict(found, "Greedy simple") == "holds"


def test_equal_curves_are_not_clear(study: Study) -> None:
    found = told(study, {"excalibr": 0.05, "greedy": 0.05, "greedy-projected": 0.05})
    assert verdict(found, "less to gain") == "not clear: no difference was found"
    assert verdict(found, "above the projected greedy") == "not clear: no difference was found"


def test_what_chance_may_have_done_says_how_many_users_would_decide(study: Study) -> None:
    curves = [line("genre", "log", PAPER_SETTING, arm, loss) for arm, loss in (("excalibr", 0.05), ("greedy", 0.06))]
    curves[0].own["ndcg"][:] += np.random.default_rng(1).normal(0.0, 0.05, 9)[:, None]
    results = ExperimentResults(Plan(), study, Curves(curves), None)
    found = {claim.statement: claim.verdict for claim in check_claims(results)}
    assert verdict(found, "above every baseline").startswith("not clear: about ")


def test_claims_on_time_are_judged_by_the_timed_calls(study: Study) -> None:
    calls = [
        Call(name, method, 0, trade_off, seconds, 0.1, seconds + 0.1, 1.0)
        for name in ATTRIBUTES
        for trade_off, factor in ((0.05, 1.0), (0.9, 2.0))
        for method, seconds in (("reduced", factor), ("full", 1.5 * factor), ("excalibr", 0.001))
    ]
    results = ExperimentResults(Plan(), study, Curves([]), Runtimes(calls, PAPER_SETTING, "highs", "highs"))
    found = {claim.statement: claim.verdict for claim in check_claims(results)}
    assert verdict(found, "Most of the time") == "holds"
    assert verdict(found, "grows with the weight") == "holds"
    assert verdict(found, "a third less time") == "holds"


def test_what_was_not_run_is_not_claimed(results: ExperimentResults) -> None:
    said = [claim.statement for claim in check_claims(results)]
    assert not [words for words in said if "n = 200" in words or "linear program" in words]


def test_what_no_trade_off_was_timed_for_is_not_judged(study: Study) -> None:
    """Once it did not hold, with "nan" times as long."""
    calls = [Call(name, "reduced", 0, 0.9, 1.0, 0.1, 1.1, 1.0) for name in ATTRIBUTES]
    results = ExperimentResults(Plan(), study, Curves([]), Runtimes(calls, PAPER_SETTING, "highs", "highs"))
    found = {claim.statement: claim for claim in check_claims(results)}
    growth = next(claim for said, claim in found.items() if "grows with the weight" in said)
    assert (growth.verdict, "nan" in growth.figures) == ("not clear: not measured", False)


def test_a_single_user_decides_nothing(study: Study) -> None:
    """Once the bootstrap of one user had no error, and every difference held."""
    one = [
        replace(each, user_ids=np.arange(1), own=of_users(each.own, np.arange(1)))
        for each in (
            line("genre", "log", PAPER_SETTING, arm, loss) for arm, loss in (("excalibr", 0.0), ("greedy", 0.2))
        )
    ]
    found = check_claims(ExperimentResults(Plan(), study, Curves(one), None))
    above = next(claim for claim in found if "above every baseline" in claim.statement)
    assert above.verdict == "not clear: too few users"
    assert "± –" in above.figures
