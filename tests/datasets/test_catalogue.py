import numpy as np
import pytest

from excalibr.datasets import Catalogue, make_catalogue
from excalibr.errors import InputError
from excalibr.positions import position_weights


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return make_catalogue(seed=7)


def test_a_seed_makes_the_same_catalogue_again(catalogue: Catalogue) -> None:
    again = make_catalogue(seed=7)
    assert again.films == catalogue.films
    assert again.candidates("Ada").scores.tolist() == catalogue.candidates("Ada").scores.tolist()
    assert again.history("Ada").tolist() == catalogue.history("Ada").tolist()


def test_another_seed_makes_another_catalogue(catalogue: Catalogue) -> None:
    assert make_catalogue(seed=8).films != catalogue.films


def test_the_first_film_is_this_one_on_every_machine(catalogue: Catalogue) -> None:
    film = catalogue.films[0]
    assert (film.title, film.year, film.genres) == ("The Awkward Caterer", 2020, ("Comedy", "Animation"))


@pytest.mark.parametrize("seed", range(5))
def test_titles_are_unique_and_fit_a_table(seed: int) -> None:
    titles = [film.title for film in make_catalogue(seed, films=1000).films]
    assert len(set(titles)) == len(titles) == 1000
    assert max(map(len, titles)) <= 22


def test_films_have_one_to_three_different_known_genres(catalogue: Catalogue) -> None:
    for film in catalogue.films:
        assert 1 <= len(set(film.genres)) == len(film.genres) <= 3
        assert set(film.genres) <= set(catalogue.genres)
        assert 1950 <= film.year <= 2024


def test_popularity_has_a_long_tail(catalogue: Catalogue) -> None:
    shares = np.array([film.popularity for film in catalogue.films])
    assert shares.sum() == pytest.approx(1.0)
    assert (np.diff(shares) < 0).all()
    assert shares[: len(shares) // 5].sum() > 0.45


def test_memberships_and_targets_sum_to_one(catalogue: Catalogue) -> None:
    np.testing.assert_allclose(catalogue.categories.sum(axis=1), 1.0)
    for user in catalogue.users:
        assert user.taste.sum() == pytest.approx(1.0)
        assert catalogue.target(user.name).sum() == pytest.approx(1.0)


def test_candidates_are_unseen_and_come_best_first(catalogue: Catalogue) -> None:
    candidates = catalogue.candidates("Ada", n=120)
    assert len(set(candidates.films.tolist())) == 120
    assert not set(candidates.films.tolist()) & set(catalogue.history("Ada").tolist())
    assert (np.diff(candidates.scores) <= 0).all()
    assert candidates.scores.min() > 0.0
    assert candidates.scores.max() < 1.0


def test_a_history_follows_the_taste(catalogue: Catalogue) -> None:
    agreement = [np.corrcoef(user.taste, catalogue.target(user.name))[0, 1] for user in catalogue.users]
    assert np.mean(agreement) > 0.7


def test_a_slate_by_score_alone_shows_too_much_of_the_favourite_genre(catalogue: Catalogue) -> None:
    weights = position_weights("log", 10)
    excess = []
    for user in catalogue.users:
        candidates = catalogue.candidates(user.name)
        favourite = int(np.argmax(user.taste))
        excess.append(weights @ candidates.categories[:10, favourite] - candidates.target[favourite])
    assert np.mean(excess) > 0.15


def test_an_unknown_user_is_told_the_nearest_name(catalogue: Catalogue) -> None:
    with pytest.raises(InputError, match="user: is 'ada', must be one of .*did you mean 'Ada'"):
        catalogue.candidates("ada")


@pytest.mark.parametrize("n", [0, 100_000])
def test_more_candidates_than_there_are_cannot_be_had(catalogue: Catalogue, n: int) -> None:
    with pytest.raises(InputError, match=f"n: is {n}, must be at least 1 and at most the [0-9]+ films not watched"):
        catalogue.candidates("Ada", n=n)


@pytest.mark.parametrize("films", [0, 99, 1001])
def test_a_catalogue_has_a_size_that_the_words_allow(films: int) -> None:
    with pytest.raises(InputError, match=f"films: is {films}, must be from 100 to 1000"):
        make_catalogue(films=films)
