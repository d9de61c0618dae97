import numpy as np

from tests.tables.invented import GENRE_COLUMNS, RERANKER, invented_tables, rerank


def test_stored_lotteries_are_drawn_from_later() -> None:
    tables = invented_tables()
    lotteries = RERANKER.lotteries(tables.candidates, tables.items, history=tables.history, **GENRE_COLUMNS)
    shuffled = lotteries.take(np.random.default_rng(0).permutation(len(lotteries)))
    for day in (None, "2030-01-31", 7):
        assert RERANKER.draw(shuffled, day=day).equals(rerank(tables, day=day))
    assert not RERANKER.draw(lotteries, day=1).equals(RERANKER.draw(lotteries, day=2))
