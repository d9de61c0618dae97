"""A small invented film catalogue with users, made from a seed: for demonstrations, examples and tests.

It has what makes calibration matter: people watch a mix of genres in which a few dominate, and nearly all of the best
scores go to the dominant ones, so that a slate by score alone shows little else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from excalibr import _seeds as seeds
from excalibr._arrays import frozen, is_whole
from excalibr._types import Floats, Integers
from excalibr.datasets._titles import GENRES, PEOPLE, Genre, titles_of
from excalibr.errors import InputError, unknown_name
from excalibr.tables._arrow import pa

_FREQUENCIES = np.array([genre.frequency for genre in GENRES])
_GENRE_COUNTS = np.array([0.45, 0.40, 0.15])  # shares of films with one, two and three genres
_TASTE = np.array([0.38, 0.22, 0.14, 0.09, 0.06])  # shares of a user's first genres; the others divide what is left
_FIRST_YEAR, _LAST_YEAR = 1950, 2024
_HISTORY_SIZES = (30, 80)


@dataclass(frozen=True, slots=True)
class Film:
    """An invented film; ``popularity`` is its share of all views."""

    title: str
    year: int
    genres: tuple[str, ...]
    popularity: float


@dataclass(frozen=True, slots=True, eq=False)
class User:
    """A person and how much they like each genre, (r,), sums to 1."""

    name: str
    taste: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """What a recommender hands to a re-ranker for one user, best score first.

    Attributes
    ----------
    films
        (n,) numbers of films in the catalogue.
    scores
        (n,) the recommender's guess, in (0, 1), that the user would like the film.
    categories
        (n, r) equal shares to each genre of a film.
    target
        (r,) the genres of the user's history.
    """

    films: Integers
    scores: Floats
    categories: Floats
    target: Floats


@dataclass(frozen=True, eq=False)
class Catalogue:
    """Films, users, what each has watched and what a recommender would offer them.

    Examples
    --------
    >>> catalogue = make_catalogue(seed=7)
    >>> candidates = catalogue.candidates("Ada", n=100)
    >>> candidates.scores.shape, candidates.categories.shape, round(float(candidates.target.sum()), 6)
    ((100,), (100, 12), 1.0)
    """

    seed: int
    genres: tuple[str, ...]
    films: tuple[Film, ...]
    users: tuple[User, ...]

    @cached_property
    def categories(self) -> Floats:
        """(films, r): equal shares to each genre of a film."""
        shares = np.zeros((len(self.films), len(self.genres)))
        for row, film in zip(shares, self.films, strict=True):
            row[[self.genres.index(genre) for genre in film.genres]] = 1.0 / len(film.genres)
        return frozen(shares)

    def user(self, name: str) -> User:
        """The user of this name."""
        for user in self.users:
            if user.name == name:
                return user
        raise unknown_name("user", name, [user.name for user in self.users])

    def history(self, name: str) -> Integers:
        """Numbers of the films that the user has watched, drawn by taste and popularity."""
        user = self.user(name)
        smallest, largest = _HISTORY_SIZES
        length = smallest + int((largest - smallest) * seeds.uniforms(self.seed, ("history length", name), 1)[0])
        supply = self._popularity @ self.categories  # a rare genre is sought out, or its lovers would hardly see it
        appeal = (self.categories @ (user.taste / supply)) * self._popularity
        return _weighted_order(appeal, seeds.uniforms(self.seed, ("history", name), len(self.films)))[:length]

    def target(self, name: str) -> Floats:
        """(r,) the average genre shares of the user's history."""
        return np.asarray(self.categories[self.history(name)].mean(axis=0))

    def candidates(self, name: str, n: int = 150) -> Candidates:
        """The ``n`` films outside the user's history with the best scores, best first."""
        scores = self._scores(self.user(name))
        scores[self.history(name)] = -np.inf
        unseen = int(np.isfinite(scores).sum())
        if not is_whole(n) or not 1 <= n <= unseen:
            raise InputError("n", f"is {n!r}", f"be at least 1 and at most the {unseen} films not watched")
        films = np.argsort(-scores, kind="stable")[:n].astype(np.int64)
        return Candidates(films, scores[films], self.categories[films], self.target(name))

    def tables(self, n: int = 150) -> dict[str, Any]:
        """The same as Arrow tables: ``candidates`` of all users, ``items`` and ``history``, for :class:`Reranker`.

        >>> {name: table.num_rows for name, table in make_catalogue(seed=7).tables(n=100).items()}
        {'candidates': 2400, 'items': 600, 'history': 1264}
        """
        names = [user.name for user in self.users]
        offered, watched = [self.candidates(name, n) for name in names], [self.history(name) for name in names]
        candidates = {
            "user_id": np.repeat(names, n),
            "item_id": np.concatenate([each.films for each in offered]),
            "score": np.concatenate([each.scores for each in offered]),
        }
        items = {
            "item_id": np.arange(len(self.films)),
            "title": [film.title for film in self.films],
            "category": [list(film.genres) for film in self.films],
        }
        history = {"user_id": np.repeat(names, list(map(len, watched))), "item_id": np.concatenate(watched)}
        return {"candidates": pa.table(candidates), "items": pa.table(items), "history": pa.table(history)}

    @property
    def _popularity(self) -> Floats:
        return np.array([film.popularity for film in self.films])

    def _scores(self, user: User) -> Floats:
        """A recommender's scores: by taste and popularity, with some noise, squashed to (0, 1)."""
        affinity = self.categories @ (user.taste / user.taste.max())
        prominence = np.log(self._popularity * len(self.films))
        noise = seeds.uniforms(self.seed, ("scores", user.name), len(self.films)) - 0.5
        appeal = 1.4 * affinity + 0.35 * prominence + 3.0 * noise - 0.4
        return np.asarray(1.0 / (1.0 + np.exp(-appeal)))


def make_catalogue(seed: int = 7, films: int = 600) -> Catalogue:
    """Make a catalogue of ``films`` films and two dozen users; the same seed makes the same one on any machine.

    >>> film = make_catalogue(seed=7).films[0]
    >>> film.title, film.year, film.genres
    ('The Awkward Caterer', 2020, ('Comedy', 'Animation'))
    """
    if not is_whole(films) or not 100 <= films <= 1000:
        raise InputError("films", f"is {films!r}", "be from 100 to 1000")
    users = tuple(User(name, _taste(seed, name)) for name in PEOPLE)
    return Catalogue(seed, tuple(genre.name for genre in GENRES), _films(seed, films), users)


def _films(seed: int, count: int) -> tuple[Film, ...]:
    """Films in the order of their popularity, which falls as a power of the rank."""
    primary = seeds.choose(_FREQUENCIES, seeds.uniforms(seed, "primary genre", count))
    sizes = 1 + seeds.choose(_GENRE_COUNTS, seeds.uniforms(seed, "number of genres", count))
    years = _LAST_YEAR - ((_LAST_YEAR - _FIRST_YEAR) * seeds.uniforms(seed, "year", count) ** 2.5).astype(np.int64)
    popularity = (10.0 + np.arange(count)) ** -0.8
    popularity /= popularity.sum()
    waiting = [_shuffled_titles(seed, genre) for genre in GENRES]
    films: dict[str, Film] = {}  # by title: words of two genres can make the same one
    for number, first in enumerate(primary):
        title = next(title for title in waiting[first] if title not in films)
        genres = _genres_of(seed, number, GENRES[first], int(sizes[number]))
        films[title] = Film(title, int(years[number]), genres, float(popularity[number]))
    return tuple(films.values())


def _shuffled_titles(seed: int, genre: Genre) -> Iterator[str]:
    titles = titles_of(genre)
    order = np.argsort(seeds.uniforms(seed, ("titles", genre.name), len(titles)), kind="stable")
    return (titles[at] for at in order)


def _genres_of(seed: int, number: int, primary: Genre, size: int) -> tuple[str, ...]:
    """The film's own genre and some of those it is often seen with, the likelier ones listed first."""
    likelihood = 1.0 / np.arange(1.0, len(primary.companions) + 1.0)
    order = _weighted_order(likelihood, seeds.uniforms(seed, ("companions", number), len(primary.companions)))
    return (primary.name, *(primary.companions[at] for at in order[: size - 1]))


def _taste(seed: int, name: str) -> Floats:
    """A few dominant genres, the common ones more often, and a little of everything else."""
    order = _weighted_order(np.sqrt(_FREQUENCIES), seeds.uniforms(seed, ("taste", name), len(GENRES)))
    taste = np.full(len(GENRES), (1.0 - _TASTE.sum()) / (len(GENRES) - len(_TASTE)))
    taste[order[: len(_TASTE)]] = _TASTE
    return frozen(taste)


def _weighted_order(weights: Floats, draws: Floats) -> Integers:
    """All numbers in an order drawn without replacement, each next one with a chance in proportion to its weight."""
    waiting_times = -np.log1p(-draws) / weights  # exponential races: the smallest of them wins
    return np.argsort(waiting_times, kind="stable").astype(np.int64)
