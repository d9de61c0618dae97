"""A pipeline with calibration wired as it should be: a ranker that keeps many candidates, and the query for ours."""

from __future__ import annotations

from typing import Any

from lenskit.basic.topn import TopNConfig, TopNRanker
from lenskit.pipeline import Pipeline
from lenskit.pipeline.common import topn_builder

from excalibr._options import whole_number
from excalibr.errors import InputError
from excalibr.lenskit._component import CalibratedReranker


def calibrated_pipeline(
    scorer: Any,
    config: Any = None,
    *,
    candidates: int | None = 200,
    n: int | None = None,
    reranker: CalibratedReranker | None = None,
    name: str | None = None,
    **options: Any,
) -> Pipeline:
    """A top-N pipeline that ends in a :class:`CalibratedReranker`.

    Parameters
    ----------
    scorer, config
        The scoring component, or its class with a configuration, as for ``lenskit.pipeline.topn_pipeline``.
    candidates
        How many of the best-scored items the re-ranker chooses from, whatever ``n`` is asked; None: all of them.
    n
        The length of a list where the pipeline is run without one.
    reranker
        A re-ranker of your own, which has its own options and ``n`` (giving both is an error); without it, one with
        these options.
    name
        The pipeline's name.
    **options
        Those of :class:`CalibratedRerankerConfig`: ``attribute="genres"``, ``trade_off=0.5``, ….

    Returns
    -------
    Pipeline
        With the nodes of LensKit's own pipelines (``history-lookup``, ``candidate-selector``, ``scorer``, ``ranker``,
        ``recommender``) and ``reranker``.
    """
    if candidates is not None:
        whole_number(1)("candidates", candidates)
    if reranker is not None and (options or n is not None):
        given = next(iter(options), "n")
        raise InputError(given, "is given beside a reranker", "be left out", "configure the reranker with it.")
    builder = topn_builder(name)
    builder.replace_component(
        "scorer", scorer, config, query=builder.node("history-lookup"), items=builder.node("candidates")
    )
    builder.clear_inputs("ranker")  # without n, which is ours
    builder.replace_component("ranker", TopNRanker, TopNConfig(n=candidates), items=builder.node("scorer"))
    last = builder.add_component(
        "reranker",
        reranker or CalibratedReranker(n=n, **options),
        items=builder.node("ranker"),
        query=builder.node("query"),
        n=builder.node("n"),
    )
    builder.alias("recommender", last, replace=True)
    builder.default_component("recommender")
    return builder.build()
