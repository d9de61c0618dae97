import pytest

from excalibr import Reranker

pd = pytest.importorskip("pandas")


def test_a_balance_shows_wanted_and_reached_shares_and_hostile_names_as_text() -> None:
    titles = ["Harbour", "Orchard", "Letter", "Wedding", "Lodger"]
    candidates = pd.DataFrame({"user_id": "ada", "item_id": titles, "score": [0.95, 0.92, 0.90, 0.80, 0.74]})
    items = pd.DataFrame({"item_id": titles, "category": ["drama"] * 3 + ["comedy"] * 2})
    items["seller"] = ["<b>big", "<b>big", "small", "<b>big", "small"]
    history = pd.DataFrame({"user_id": "ada", "item_id": ["Letter", "Letter", "Lodger"]})
    wanted = {"seller": {"<b>big": 0.6, "small": 0.4}}
    html = (
        Reranker(k=3, trade_off=0.5, seed=1).balance(candidates, items, history=history, everyone=wanted)._repr_html_()
    )
    assert "&lt;b&gt;big" in html
    assert "<b>big" not in html
    assert html.count(">0.600<") == 2  # wanted and reached
    assert ">1.000<" in html  # before
