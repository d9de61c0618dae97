from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pytest
import threadpoolctl
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from excalibr import models
from excalibr.errors import InputError, InputTypeError, SolverError
from excalibr.models import EASE, gram_matrix, top_items

Precision = Literal["float32", "float64"]


def interactions(users: int = 60, items: int = 25, seed: int = 1) -> Any:
    dense = np.random.default_rng(seed).random((users, items)) < np.linspace(0.6, 0.05, items)
    return sparse.csr_array(dense.astype(np.float64))


def naive(matrix: Any, regularisation: float) -> Any:
    dense = matrix.toarray()
    inverse = np.linalg.inv(dense.T @ dense + regularisation * np.eye(dense.shape[1]))
    weights = np.eye(len(inverse)) - inverse @ np.diag(1.0 / np.diag(inverse))
    np.fill_diagonal(weights, 0.0)
    return weights


@pytest.mark.parametrize(("dtype", "error"), [("float64", 1e-12), ("float32", 1e-5)])
@pytest.mark.parametrize("regularisation", [0.5, 20.0, 500.0])
def test_the_model_is_the_closed_form(dtype: Precision, error: float, regularisation: float) -> None:
    model = EASE.fit(interactions(), regularisation=regularisation, dtype=dtype)
    assert model.weights.dtype == dtype
    np.testing.assert_allclose(model.weights, naive(interactions(), regularisation), atol=error)


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = EASE.fit(interactions(), regularisation=3.0, dtype="float64")
    monkeypatch.setattr(models, "_BLOCK", 7)
    blocks = EASE.fit(interactions(), regularisation=3.0, dtype="float64")
    assert blocks.weights.tolist() == whole.weights.tolist()


def test_a_grid_comes_from_one_gram_matrix_and_leaves_it_alone() -> None:
    grid = EASE.fit_many(interactions(), [1.0, 10.0], dtype="float64")
    for model, regularisation in zip(grid, [1.0, 10.0], strict=True):
        alone = EASE.fit(interactions(), regularisation=regularisation, dtype="float64")
        assert model.regularisation == regularisation
        assert model.weights.tolist() == alone.weights.tolist()


def test_fitting_in_place_makes_no_second_array() -> None:
    gram = gram_matrix(interactions())
    model = EASE.from_gram(gram, 10.0, overwrite=True)
    assert np.shares_memory(model.weights, gram)


def test_fitting_from_a_gram_matrix_copies_unless_told() -> None:
    gram = gram_matrix(interactions(), dtype="float64")
    before = gram.copy()
    fortran = np.asfortranarray(gram)
    assert EASE.from_gram(gram, 10.0).weights.tolist() == EASE.from_gram(fortran, 10.0, overwrite=True).weights.tolist()
    assert gram.tolist() == before.tolist()


def test_no_item_recommends_itself_and_the_model_cannot_be_changed() -> None:
    model = EASE.fit(interactions())
    assert not model.weights.diagonal().any()
    with pytest.raises(ValueError, match="read-only"):
        model.weights[0, 1] = 1.0


def test_an_item_that_nobody_has_is_no_trouble() -> None:
    matrix = interactions().tolil()
    matrix[:, 4] = 0
    model = EASE.fit(sparse.csr_array(matrix), regularisation=1.0)
    assert not model.weights[4].any()
    assert not model.weights[:, 4].any()


def test_a_fit_does_not_depend_on_the_threads_that_blas_is_set_to() -> None:
    fitted = []
    for threads in (1, 2):
        with threadpoolctl.threadpool_limits(threads, "blas"):
            fitted.append(EASE.fit(interactions(900, 600)).weights.tobytes())
    assert fitted[0] == fitted[1]


def test_blas_may_use_more_threads_when_told() -> None:
    one, two = (EASE.fit(interactions(), dtype="float64", threads=threads).weights for threads in (1, None))
    np.testing.assert_allclose(one, two, atol=1e-12)


def test_scores_add_up_the_history() -> None:
    model = EASE.fit(interactions(), regularisation=5.0, dtype="float64")
    histories = interactions(7, seed=2)
    np.testing.assert_allclose(model.score(histories), histories.toarray() @ model.weights, atol=1e-14)


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 5))
def test_top_items_are_those_of_a_full_sort_whatever_the_batch(n: int, batch: int, seed: int) -> None:
    model = EASE.fit(interactions(), regularisation=5.0)
    histories = interactions(8, seed=seed)
    top = model.top(histories, n, batch=batch)
    scores = np.where(histories.toarray() > 0, -np.inf, model.score(histories))
    assert top.items.tolist() == np.argsort(-scores, axis=1, kind="stable")[:, :n].tolist()
    assert top.scores.tolist() == np.take_along_axis(scores, top.items, axis=1).tolist()


def test_top_items_are_never_of_the_history() -> None:
    histories = interactions(20, seed=3)
    top = EASE.fit(interactions()).top(histories, 5)
    assert not np.take_along_axis(histories.toarray(), top.items, axis=1).any()


def test_an_empty_history_gets_the_first_items() -> None:
    model = EASE.fit(interactions())
    assert model.top(sparse.csr_array((2, model.items)), 3).items.tolist() == [[0, 1, 2]] * 2
    assert model.top(sparse.csr_array((0, model.items)), 3).items.shape == (0, 3)


def test_other_items_than_the_historys_can_be_left_out() -> None:
    model = EASE.fit(interactions())
    nothing = sparse.csr_array((3, model.items))
    everything_but_two = sparse.csr_array(np.tile([0, 0] + [1] * (model.items - 2), (3, 1)))
    assert sorted(model.top(nothing, 2, exclude=everything_but_two).items[0].tolist()) == [0, 1]


def test_the_repr_says_what_it_is() -> None:
    assert repr(EASE.fit(interactions())) == "EASE(25 items, regularisation 500, float32)"


def test_a_gram_matrix_that_cannot_be_inverted_says_what_to_do() -> None:
    singular = np.array([[1e8, 1e8], [1e8, 1e8]], dtype=np.float32)
    with pytest.raises(SolverError, match='regularisation: is 1e-06, too small .*Hint: .*dtype="float64"'):
        EASE.from_gram(singular, 1e-6)


def test_arguments_that_make_no_sense_are_refused() -> None:
    model = EASE.fit(interactions())
    with pytest.raises(InputError, match="regularisation: is 0, must be finite and above 0"):
        EASE.fit(interactions(), regularisation=0)
    with pytest.raises(InputError, match="dtype: is 'float16', must be one of 'float32', 'float64'"):
        EASE.fit(interactions(), dtype="float16")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="interactions: contain a value that is not finite"):
        EASE.fit([[1.0, np.nan]])
    with pytest.raises(InputError, match="gram: has shape"):
        EASE.from_gram(np.ones((2, 3)), 1.0)
    with pytest.raises(InputError, match=r"histories: have shape \(1, 3\), must have shape \(users, 25\)"):
        model.score([[1, 0, 1]])
    with pytest.raises(InputError, match="n: is 26, must be at least 1 and at most the 25 items"):
        model.top(sparse.csr_array((1, 25)), 26)
    with pytest.raises(InputError, match=r"exclude's shape: \(2, 25\), must be \(1, 25\)"):
        model.top(sparse.csr_array((1, 25)), 2, exclude=sparse.csr_array((2, 25)))
    with pytest.raises(InputError, match="batch: is 0, must be at least 1"):
        model.top(sparse.csr_array((1, 25)), 2, batch=0)


@given(hnp.arrays(np.float64, (3, 12), elements=st.sampled_from([-1.0, 0.0, 0.5, 2.0])), st.integers(1, 12))
def test_ties_go_to_the_lower_index(scores: np.ndarray[tuple[int, int], np.dtype[np.float64]], n: int) -> None:
    top = top_items(scores, n)
    assert top.items.tolist() == np.argsort(-scores, axis=1, kind="stable")[:, :n].tolist()


def test_more_items_than_may_be_shown_are_refused() -> None:
    scores = np.array([[1.0, 2.0, 3.0], [1.0, -np.inf, 3.0]])
    with pytest.raises(
        InputError, match=r"n: is 3, must be at least 1 and at most the 2 items that can be shown \(row 1"
    ):
        top_items(scores, 3)


@pytest.mark.parametrize("regularisation", [0.0, -1.0, np.inf, np.nan])
def test_a_regularisation_is_finite_and_positive(regularisation: float) -> None:
    with pytest.raises(InputError, match="regularisation: is .*, must be finite and above 0"):
        EASE.from_gram(np.eye(2), regularisation)


@pytest.mark.parametrize("scores", [np.array([[0, 2, 1]], dtype=np.uint8), np.array([[-(2**63), 2, 1]])])
def test_whole_numbers_are_ranked_as_numbers(scores: np.ndarray[Any, Any]) -> None:
    """Once the best came last where −x is no such number: an unsigned 0, and the least of all."""
    assert top_items(scores, 2).items.tolist() == [[1, 2]]
    assert top_items(scores.tolist(), 2).items.tolist() == [[1, 2]]


def test_scores_that_cannot_be_ranked_are_refused() -> None:
    with pytest.raises(InputError, match="scores: have a value that is nan"):
        top_items([[np.nan, 1.0]], 1)
    with pytest.raises(InputError, match=r"scores: have shape \(2,\), must have shape \(users, items\)"):
        top_items([2.0, 1.0], 1)
    with pytest.raises(InputError, match="histories: contain a value that is not finite"):
        EASE.fit(interactions()).top(np.full((1, 25), np.nan), 1)


def test_no_model_is_made_of_counts_that_are_no_numbers() -> None:
    for gram in ([[np.nan, 0.0], [0.0, 1.0]], np.empty((0, 0))):
        with pytest.raises(InputError, match="gram: has (no items|a diagonal that is not finite)"):
            EASE.from_gram(np.array(gram), 1.0)
    with pytest.raises(InputError, match="gram: has a diagonal that is not finite"):
        EASE.fit([[1e30, 1.0]])  # its square is no float32
    with pytest.raises(InputError, match="gram: has shape .* and type >f8"):
        EASE.from_gram(np.eye(2).astype(">f8"), 1.0)


def test_an_array_that_cannot_be_written_to_is_copied() -> None:
    gram = np.eye(3)
    gram.setflags(write=False)
    assert not np.shares_memory(EASE.from_gram(gram, 1.0, overwrite=True).weights, gram)


@pytest.mark.parametrize("regularisation", [1e300, 10**400, float("inf")])
def test_a_regularisation_beyond_the_precision_is_refused(regularisation: float) -> None:
    """Once 1e300 was ∞ in float32, with a warning of numpy's."""
    with pytest.raises(InputError, match=r"regularisation: is .*, must be finite and above 0 in float32"):
        EASE.fit(interactions(), regularisation=regularisation)


def test_any_real_number_is_a_regularisation() -> None:
    assert EASE.fit(interactions(), regularisation=Fraction(1, 2)).regularisation == 0.5  # type: ignore[arg-type]


def test_a_gram_matrix_with_a_value_that_is_not_finite_is_refused() -> None:
    """Once every weight of the model was nan."""
    with pytest.raises(InputError, match="gram: has an inverse that is not finite, must be symmetric and finite"):
        EASE.from_gram(np.array([[1.0, np.nan], [np.nan, 1.0]]), 1.0)


def test_batches_of_a_small_integer_type_do_not_wrap_around() -> None:
    model, users = EASE.fit(interactions(), regularisation=1.0), interactions(users=300)
    found = model.top(users, 3, batch=np.uint8(200))  # type: ignore[arg-type]
    assert np.array_equal(found.items, model.top(users, 3).items)


def test_scores_under_a_mask_are_refused() -> None:
    """Once the values beneath were ranked."""
    with pytest.raises(InputTypeError, match="scores: cannot be read as numbers"):
        top_items(np.ma.array([[1.0, 2.0]], mask=[[False, True]]), 1)
