"""The configuration of the re-ranker: every option of how to rank, from its one declaration, and of what to learn.

LensKit's words where it has them: ``n`` is the length of a list, ``rng`` the seed.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from lenskit.random import DerivableSeed
from pydantic import BaseModel, Field, create_model, model_validator

from excalibr._options import read_options
from excalibr.tables import Reranker, Tables

OPTIONS = {each.name: each for each in dataclasses.fields(Reranker) if each.name not in ("k", "seed", "threads")}
"""Those of ``Reranker`` but what LensKit has other words for, or what says how many users are solved at once."""

KINDS: dict[str, Any] = {
    "position_weights": str | list[float],
    **dict.fromkeys(("trade_off", "relevance_loss", "max_deviation", "time_limit"), float | None),
    **dict.fromkeys(("divergence", "method", "draws", "fallback"), str),
    "tolerance": float,
    "max_sorts": int | None,
    "relative": bool,
    "normalise": str | None,
}
"""The types of options as a configuration file has them; the others are by category: mappings from names to numbers."""


def _declared() -> dict[str, Any]:
    """The options of ``Reranker`` as fields of a pydantic model."""
    return {
        name: (KINDS.get(name, Any), Field(each.default, description=each.metadata["help"]))
        for name, each in OPTIONS.items()
    }


_Declared: Any = create_model("_Declared", __base__=BaseModel, __module__=__name__, **_declared())


class CalibratedRerankerConfig(_Declared, extra="forbid"):  # type: ignore[misc,call-arg]
    """How to re-rank: the options of :class:`excalibr.Reranker`, and what to learn from a dataset.

    Attributes
    ----------
    trade_off, relevance_loss, max_deviation, position_weights, divergence, attribute_weights, category_weights, \
relative, floors, caps, max_per_category, normalise, method, draws, tolerance, max_sorts, \
time_limit, fallback
        As for :class:`excalibr.Reranker`; options by category name the categories. Position weights that are a list
        have as many numbers as slots are asked for.
    n
        How many items a list has where the pipeline is not asked for a number; None: as many as there are candidates.
    attribute
        The item attribute that has the categories (scalar, list, vector or sparse), or several of them.
    rng
        The seed of the draw from a user's lottery. ``(seed, "user")`` draws by (seed, user), as
        ``excalibr.Reranker(seed=seed)`` does, whatever the order of the requests.
    interaction_class
        The interactions that are the users' histories; None: the dataset's default.
    weight
        The attribute of interactions that says how much each counts, such as ``"rating"``; None: all count alike.
    half_life
        Weigh the history by age: weights halve with every ``half_life``, in timestamp units (seconds for dates).
    targets
        Wanted shares by category for everybody, in place of the users' histories; with several attributes by name.
    prior, strength
        Shares for users with little or no history, and how many items of a history they are worth.
    """

    n: int | None = Field(None, ge=0)
    attribute: str | list[str] = "genres"
    rng: DerivableSeed = (0, "user")
    interaction_class: str | None = None
    weight: str | None = None
    half_life: float | None = None
    targets: dict[Any, Any] | None = None  # categories may be numbers, such as decades
    prior: dict[Any, Any] | None = None
    strength: float = 0.0

    @model_validator(mode="after")  # type: ignore[untyped-decorator]
    def _check(self) -> CalibratedRerankerConfig:
        """Refuse what ``Reranker`` would refuse, in its words."""
        self.reranker(k=self.n or None)
        self.tables()
        return self

    def reranker(self, **more: Any) -> Reranker:
        """The same options as those of a re-ranker of tables."""
        return read_options(Reranker, {name: getattr(self, name) for name in OPTIONS} | more)

    def tables(self, history: Any = ()) -> Tables:
        """Where targets come from, as for a re-ranker of tables; a history counts where no targets are given."""
        given = {name: getattr(self, name) for name in ("targets", "prior", "strength", "half_life")}
        return read_options(Tables, given | {"history": history if self.targets is None else None})
