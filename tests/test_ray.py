"""On a Ray of this machine; skipped where Ray is not installed."""

from typing import Any

import pyarrow as pa
import pytest

from excalibr import Reranker
from excalibr.errors import InputError, InputTypeError
from excalibr.ray import RerankBatch
from tests.tables.invented import CANDIDATES, GENRE_COLUMNS, ITEMS, invented_tables


def test_a_batch_is_reranked_as_a_reranker_does() -> None:
    tables = invented_tables(users=10)
    batch = RerankBatch(tables.items, history=tables.history, k=5, trade_off=0.4, seed=3, **GENRE_COLUMNS)
    local = Reranker(k=5, trade_off=0.4, seed=3).rerank(
        tables.candidates, tables.items, history=tables.history, **GENRE_COLUMNS
    )
    assert batch(tables.candidates).equals(local)


@pytest.mark.filterwarnings("ignore")
def test_ray_data_gives_what_a_local_reranker_gives() -> None:
    ray: Any = pytest.importorskip("ray", reason="ray is not installed")
    pytest.importorskip("ray.data", reason="ray.data is not installed")
    tables = invented_tables(users=10)
    options = {"history": tables.history, "k": 5, "trade_off": 0.4, "seed": 3, **GENRE_COLUMNS}
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        slates = (
            ray.data.from_arrow(tables.shuffled(1).candidates)
            .repartition(3, keys=["user_id"])
            .map_batches(
                RerankBatch,
                fn_constructor_args=[tables.items],
                fn_constructor_kwargs=options,
                batch_size=None,
                batch_format="pyarrow",
                concurrency=1,
            )
        )
        found = pa.concat_tables([ray.get(each) for each in slates.to_arrow_refs()])
    finally:
        ray.shutdown()
    local = Reranker(k=5, trade_off=0.4, seed=3).rerank(
        tables.candidates, tables.items, history=tables.history, **GENRE_COLUMNS
    )
    assert found.sort_by([("user_id", "ascending"), ("rank", "ascending")]).to_pydict() == local.to_pydict()


def test_a_mistyped_option_of_a_reranker_is_answered_with_the_nearest() -> None:
    with pytest.raises(InputError, match="option: is 'trade_of', .*did you mean 'trade_off'"):
        RerankBatch(ITEMS, targets={"a": 1.0}, trade_of=0.5)
    with pytest.raises(InputError, match="option: is 'everyone_floor', .*did you mean 'everyone_floors'"):
        Reranker(k=1).balance(CANDIDATES, ITEMS, targets={"a": 1.0}, everyone_floor={"seller": {"small": 0.1}})


def test_a_batch_of_arrays_is_told_what_to_ask_ray_for() -> None:
    batch = {name: CANDIDATES[name].to_numpy() for name in CANDIDATES.column_names}
    with pytest.raises(InputTypeError, match="batch: is a mapping of arrays.*batch_format='pyarrow'"):
        RerankBatch(ITEMS, targets={"a": 1.0}, k=2)(batch)


def test_a_batch_draws_the_visit_that_a_reranker_draws() -> None:
    tables = invented_tables(users=10)
    users = pa.table({"user_id": tables.candidates["user_id"].unique().to_pylist()[:3], "visit": [2, 0, 70]})
    options = {"history": tables.history, "users": users, "visit": 3, "propensities": True, **GENRE_COLUMNS}
    batch = RerankBatch(tables.items, k=5, trade_off=0.4, seed=3, **options)
    local = Reranker(k=5, trade_off=0.4, seed=3).rerank(tables.candidates, tables.items, **options)
    assert batch(tables.candidates).equals(local)


def test_a_batch_takes_prices_of_groups() -> None:
    items = pa.table({"item_id": [1, 2], "category": ["drama", "comedy"], "seller": ["big", "small"]})
    candidates = pa.table({"user_id": [7, 7], "item_id": [1, 2], "score": [0.9, 0.5]})
    options: dict[str, Any] = {"targets": {"drama": 0.5, "comedy": 0.5}, "prices": {"seller": {"big": 1.0}}}
    slates = RerankBatch(items, k=1, trade_off=0.0, **options)(candidates)
    assert slates["item_id"].to_pylist() == [2]
    assert slates.equals(Reranker(k=1, trade_off=0.0).rerank(candidates, items, **options))
