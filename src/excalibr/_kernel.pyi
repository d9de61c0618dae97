# What src/kernel/bindings.cpp and bindings_solver.cpp bind. Arrays must be contiguous, of float64 or int64, and may be
# read-only.
from typing import Any

from excalibr._types import Booleans, Floats, Integers

SOURCE_DIGEST: str

SUM_TOLERANCE: float
WIDEST_RANGE: float

def pack_rows(array: Floats) -> tuple[Integers, Integers, Floats]:
    """The non-zeros of an (n, r) array by rows: indptr, indices, values."""

def exposure_of(rankings: Integers, weights: Floats, position_weights: Floats, n: int) -> Floats:
    """(n,) the expected position weight of each candidate under a lottery."""

def shares_of(indptr: Integers, indices: Integers, values: Floats, n_categories: int, exposure: Floats) -> Floats:
    """(r,) p = Aᵀx."""

def calibrated_order(
    candidates: Integers,
    gains: Floats,
    indptr: Integers,
    indices: Integers,
    values: Floats,
    target: Floats,
    weights: Floats,
    trade_off: float,
    smoothing: float,
    projected: bool,
) -> Integers:
    """Select, by gain and smoothed KL, one of the ``candidates`` for each of the slot ``weights`` in turn."""

def marginal_order(
    gains: Floats, indptr: Integers, indices: Integers, values: Floats, n_categories: int, slots: int, trade_off: float
) -> Integers:
    """Select ``slots`` candidates in turn, by gain − λ·(largest overlap with one chosen before)."""

def visit_rankings(
    places: Integers,
    weights: Floats,
    counts: Integers,
    slots: Integers,
    items: int,
    draws: Floats,
    visits: Integers,
) -> Integers:
    """(users,) the ranking that each user's visit sees, counted from the user's first; −1 for users without any."""

def visit_sequence(rankings: Integers, weights: Floats, items: int, draw: Floats, visits: int) -> Integers:
    """(visits,) the rankings of one lottery that a person's first visits see, in one deal."""

class IdTable:
    """The place of each of these whole numbers, which are distinct."""

    def __init__(self, ids: Integers) -> None: ...

def known_candidates(
    table: IdTable | dict[Any, int], labels: list[Any], scores: list[Any], widest: float
) -> tuple[Integers, Integers, Floats, list[int]] | None:
    """The labels whose ids a table has, in its order: which they are, places, scores; and which labels it has not.

    None where it takes more than a look: ids to convert, ids that come twice, scores beyond ``widest``.
    """

def gather_rows(
    indptr: Integers, indices: Integers, values: Floats, rows: Integers
) -> tuple[Integers, Integers, Floats]:
    """Some rows of a sparse matrix: indptr, indices, values."""

def slate_of(
    checked: Checked,
    rankings: Integers,
    weights: Floats,
    position_weights: Floats,
    shown: int,
    labels: Integers,
    scores: Floats,
    lows: Floats | None,
    highs: Floats | None,
) -> tuple[list[int], list[float], list[float], float, list[float], list[float], list[float], list[float]]:
    """Of the only user's ranking that is shown: labels, scores, propensities; of the lottery: relevance, shares.

    Then the target's lower edges, and the deviations by attribute, of the lottery and of the ranking. Edges that are
    None are those that were checked.
    """

class Catalogue:
    """The items of a profile: ids, and category rows of one attribute; ``unit_range`` brings scores to [0, 1]."""

    def __init__(
        self,
        ids: IdTable | dict[Any, int],
        indptr: Integers,
        indices: Integers,
        values: Floats,
        categories: list[str],
        unit_range: bool,
    ) -> None: ...
    def slate(
        self,
        labels: list[Any],
        scores: list[Any],
        widest: float,
        target: Floats,
        setting: Setting,
        draw: float,
        alone: bool,
    ) -> tuple[Any, ...] | None:
        """A request's candidates found, solved, and the ranking drawn that a number in [0, 1) falls on.

        ``alone`` says that no other thread solves meanwhile: a short solve then keeps the GIL.

        As JSON the slate, the lottery's shares and the target; relevance, the deviations of the lottery and of the
        ranking; the ranking's probability, the gap, whether it is above what is allowed, the seconds of the solve; the
        number of slots, and which labels are unknown. None where it takes more than that.
        """

def first_of_stream(seed: bytes) -> int:
    """``PCG64(seed).random_raw()`` for 16 bytes, the lowest first."""

class Checked:
    """Scores, category rows and targets of any number of users, checked and packed; faults by user."""

    def __init__(
        self,
        scores: Any,
        starts: Integers | None,
        items: Integers | None,
        rows: Any,
        lows: Any,
        highs: Floats | None,
        ends: Integers | None,
        bands: Booleans | None,
        unit_range: bool,
    ) -> None:
        """``rows`` are a table, a tuple (indptr, indices, values, columns), or a list of these side by side.

        What is not a contiguous array of the right type is a TypeError, arrays that do not fit are a ValueError.
        """

    @property
    def sound(self) -> bool: ...
    @property
    def faults(self) -> Integers: ...
    def fault(self, user: int) -> tuple[int, int, int, int, float, float]:
        """Kind, attribute, place, column and up to two numbers; see `excalibr._problem.faults`."""

    @property
    def r(self) -> int: ...
    @property
    def candidates(self) -> int: ...
    @property
    def scores(self) -> Floats: ...
    @property
    def indptr(self) -> Integers: ...
    @property
    def indices(self) -> Integers: ...
    @property
    def values(self) -> Floats: ...
    @property
    def lows(self) -> Floats: ...
    @property
    def highs(self) -> Floats: ...

class Questions:
    """The questions of any number of users; `excalibr._solver.seam` makes it."""

    def __init__(
        self, checked: Checked, by_user: tuple[Any, ...], asked: tuple[Any, ...], terms: tuple[Any, ...] | None
    ) -> None: ...
    def __len__(self) -> int: ...
    def cancel(self) -> None:
        """Make the ranges that are under way end before their next user."""

class Setting:
    """What a user asks alone beside scores, rows and targets; for all users with as many slots."""

    def __init__(self, position_weights: Floats, trade_off: float, asked: tuple[Any, ...]) -> None: ...

def solve_range(questions: Questions, first: int, last: int) -> tuple[Any, ...]:
    """Solve the users first … last − 1: places, weights, counts, prices, gaps, and what describes each solve."""

def solve_user(questions: Questions, user: int) -> tuple[Any, ...]:
    """Solve one user: rankings, weights, prices, gap, and what describes the solve."""

def solve_alone(checked: Checked, setting: Setting) -> tuple[Any, ...]:
    """The same for the only user of what was checked, who asks nothing beyond the setting."""

def measure_range(
    questions: Questions, places: Integers, weights: Floats, counts: Integers, first: int, last: int
) -> Floats:
    """(users, 6) what the lotteries of a range of users are worth."""

class Curve:
    """One user's solves at any trade-offs, each from what the ones before found."""

    def __init__(self, questions: Questions, user: int) -> None: ...
    def solve(
        self, trade_off: float, tolerance: float, max_sorts: int, prices: Floats | None
    ) -> tuple[tuple[Any, ...], float, float, float]: ...
    def gap_at(self, trade_off: float, rankings: Integers, weights: Floats, prices: Floats) -> float: ...
    def relevance_floor(self, loss: float) -> float: ...
