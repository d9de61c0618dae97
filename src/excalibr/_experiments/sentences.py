"""The sentences of the report and of the page, with their numbers taken from the results."""

from __future__ import annotations

from collections.abc import Iterator

from excalibr._experiments.arms import ARMS, MIP_GAP, MIP_NODES
from excalibr._experiments.comparison import margins
from excalibr._experiments.curves import DRAW_KL, KL
from excalibr._experiments.figures import Figure
from excalibr._experiments.plan import PAPER_SETTING, SLATE_SETTING, Setting
from excalibr._experiments.run import ExperimentResults

__all__ = ["READING", "WHY", "caption", "expectation_and_draw", "introduction", "verdicts"]


def introduction(results: ExperimentResults) -> Iterator[str]:
    """What was run and how to read it, a paragraph at a time."""
    study, plan = results.study, results.plan
    yield (
        f"{plan.users} test users of {study.name}, {len(plan.trade_offs)} trade-offs λ from {min(plan.trade_offs):g} "
        f"to {max(plan.trade_offs):g}, seed {plan.seed}. {_scorer(results)} The target is the history's own "
        "distribution; NDCG and MRR are of the held-out positives, in expectation over the lottery."
    )
    yield (
        "KL is KL(q ‖ p) in nats with Steck's smoothing, α = 0.01. Of the expectation is the divergence of the "
        "expected distribution, what is seen over many visits; of a draw is that of a single ranking, what is seen on "
        "one. Error bars are standard errors over users."
    )
    sampled = sorted({(curve.arm, curve.attribute, curve.users) for curve in results.curves if not curve.complete})
    if sampled:
        listed = ", ".join(f"{ARMS[arm].label} on {attribute} ({users})" for arm, attribute, users in sampled)
        yield (
            f"On a random sample of the users, for their time: {listed}; one ranking is sampled in more than 50 slots "
            "only. Such methods are compared on their own users, paired, and have no curve beside those of all users."
        )
    yield (
        "The projected greedy is not the paper's: it takes the slots that are still open to match the target, where "
        "the paper's greedy judges a first pick as if it were the whole list, and is the strongest of the greedies."
    )
    if "mip-greedy" in plan.arms:
        yield (
            f"MIP greedy's branch and bound stops at a gap of {MIP_GAP:.1%}, or after {MIP_NODES} nodes, with its best "
            "set; where items have one category each its set is the exact optimum."
        )


def _scorer(results: ExperimentResults) -> str:
    if not results.study.tuning:
        return "Candidates and scores were given."
    return (
        f"Candidates are the best by EASE (regularisation {results.study.regularisation:g}, chosen on validation "
        "users) outside the user's history."
    )


WHY = (
    "Why one would want a lottery where it is level: its optimum is proven, user by user, and a greedy's is not known; "
    "what a user sees over several visits comes near to the target, where a list shows the same on every visit (the "
    "table of further measures); floors, caps, pins and budgets are kept exactly; and it takes milliseconds (the table "
    "of runtimes)."
)


def verdicts(results: ExperimentResults) -> Iterator[str]:
    """Where the exact methods are above the strongest greedy, level with it and below, on the same users."""
    for arm, across, words in (
        ("excalibr", KL, "KL of the expectation"),
        ("excalibr-kl", KL, "KL of the expectation"),
        ("single-kl", DRAW_KL, "KL of the list"),
    ):
        for setting in results.curves.settings:
            found: dict[str, list[str]] = {}
            for pair in results.curves.pairs("log", (setting, arm), (setting, "greedy-projected")):
                estimate = margins(*pair, across=across).mean
                place = {"holds": "above", "does not hold": "below"}.get(estimate.verdict, "level")
                found.setdefault(place, []).append(f"{pair[0].attribute} ({estimate})")
            if found:
                listed = "; ".join(
                    f"{place}: {', '.join(found[place])}" for place in ("above", "level", "below") if place in found
                )
                yield f"{ARMS[arm].label} against the projected greedy, {setting}, NDCG at equal {words}: {listed}."


READING = (
    "Up and to the left is better: every line starts at relevance only, the star, and goes to the left as the weight "
    "on calibration grows."
)


def caption(figure: Figure, results: ExperimentResults) -> str:
    """What a figure shows."""
    present = [curve for curve in results.curves if curve.setting == figure.setting and curve.arm in figure.arms]
    sampled = sorted({ARMS[curve.arm].label for curve in present if not curve.complete})
    if figure.less:
        return (
            f"{figure.title}. Bars are two standard errors; hollow marks lie between "
            "points that are far apart; lines far below the others are cut off."
        )
    note = f" On a sample, and so in the figures of differences only: {', '.join(sampled)}." if sampled else ""
    return f"{figure.title}.{note}"


def expectation_and_draw(results: ExperimentResults) -> Iterator[str]:
    """How far expectation and draw are from each other, an item of a list for each setting and method."""
    for setting in (PAPER_SETTING, SLATE_SETTING):
        for arm in ("excalibr", "excalibr-kl"):
            texts = [
                text for attribute in results.curves.attributes if (text := _apart(results, attribute, setting, arm))
            ]
            if texts:
                yield f"{ARMS[arm].label}, n/k = {setting}, log weights, λ = 0.1: " + "; ".join(texts) + "."


def _apart(results: ExperimentResults, attribute: str, setting: Setting, arm: str) -> str:
    curve = results.curves.get(attribute, "log", setting, arm)
    if curve is None:
        return ""
    expected, drawn = (curve.at_trade_off(0.1, f"kl_of_{what}") for what in ("expectation", "draw_mean"))
    l1_expected, l1_drawn = (curve.at_trade_off(0.1, f"l1_of_{what}") for what in ("expectation", "draw_mean"))
    return (
        f"{attribute} KL {expected:.4f} of the expectation and {drawn:.4f} of a draw, "
        f"L1 {l1_expected:.4f} and {l1_drawn:.4f}"
    )
