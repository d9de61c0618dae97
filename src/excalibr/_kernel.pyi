# What the files src/kernel/bindings*.cpp bind. Arrays must be contiguous, of float64 or int64, and may be read-only.
from typing import Any

from excalibr._types import Booleans, Floats, Integers

SOURCE_DIGEST: str

SUM_TOLERANCE: float
WIDEST_RANGE: float

def pack_rows(array: Floats) -> tuple[Integers, Integers, Floats]:
    """The non-zeros of an (n, r) array as sparse rows: indptr, indices, values."""

def exposure_of(rankings: Integers, weights: Floats, position_weights: Floats, n: int) -> Floats:
    """(n,) exposure: the expected position weight of each candidate under a lottery."""

def shares_of(indptr: Integers, indices: Integers, values: Floats, n_categories: int, exposure: Floats) -> Floats:
    """(r,) category shares p = Aᵀx of an exposure x, with the rows of A given as sparse."""

def sums_by_user(
    indptr: Integers, indices: Integers, values: Floats, n_categories: int, weights: Floats, starts: Integers
) -> tuple[Integers, Integers, Floats]:
    """Sparse rows: Σ weight × row of each user's, ``starts[u]`` up to ``starts[u + 1]``, added up in their order."""

def shares_of_rows(
    indptr: Integers, indices: Integers, values: Floats, n_categories: int, negligible: float
) -> tuple[Integers, Integers, Floats]:
    """Sparse rows divided by their sums, as numpy adds up dense ones, without what is below ``negligible`` of them."""

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
    """The greedy ranking: for each slot of ``weights`` in turn the candidate with the best gain less smoothed KL."""

def marginal_order(
    gains: Floats, indptr: Integers, indices: Integers, values: Floats, n_categories: int, slots: int, trade_off: float
) -> Integers:
    """MMR: ``slots`` candidates in turn, each with the best gain − λ·(largest overlap with one chosen before)."""

def visit_rankings(
    places: Integers,
    weights: Floats,
    counts: Integers,
    slots: Integers,
    items: int,
    draws: Floats,
    visits: Integers,
) -> Integers:
    """(users,) which of their own rankings users see at their visits, counted from 0; −1 for users without any."""

def visit_sequence(rankings: Integers, weights: Floats, items: int, draw: Floats, visits: int) -> Integers:
    """(visits,) which rankings of one lottery a person's first visits see, all from one deal."""

class IdTable:
    """A hash table from distinct integers to their positions."""

    def __init__(self, ids: Integers) -> None: ...

def known_candidates(
    table: IdTable | dict[Any, int], labels: list[Any], scores: list[Any], widest: float
) -> tuple[Integers, Integers, Floats, list[int]] | None:
    """Those labels that a table has, in its order: their indices, positions in the table and scores; and the others.

    None where the plain lookup is not enough: ids to convert, duplicate ids, scores beyond ±``widest``.
    """

def gather_rows(
    indptr: Integers, indices: Integers, values: Floats, rows: Integers
) -> tuple[Integers, Integers, Floats]:
    """Selected rows of a sparse matrix: indptr, indices, values."""

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
    """For the ranking number ``shown`` of a single user: labels, scores and propensities of its items.

    Then the lottery's relevance and shares, the lower edges of the target, and the deviations by attribute, of the
    lottery and of the ranking. ``lows`` and ``highs`` are the target's edges; None takes those in ``checked``.
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
        """Look up a request's candidates, solve it, and draw a ranking with ``draw``, a number in [0, 1).

        ``alone`` says that no other thread is solving: a short solve then keeps the GIL.

        Returns, as JSON, the slate, the lottery's shares and the target; then the relevance, the deviations of the
        lottery and of the ranking, the ranking's probability, the gap, whether it is above the allowed one, the
        seconds of the solve, the number of slots, the indices of unknown labels, and where the time limit was reached
        every ranking, as JSON. None where the request needs the general way through Python.
        """

def first_of_stream(seed: bytes) -> int:
    """``PCG64(seed).random_raw()`` for a seed of 16 bytes, little-endian."""

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
        """Check and pack. ``rows`` is an array, a tuple (indptr, indices, values, columns), or a list of these.

        ``lows`` are the lower edges of the targets, row after row, of each user or of all alike; or sparse, a tuple
        (indptr, indices, values, rest), where None or (rows × attributes) ``rest`` says up to which share a category
        may have that a row does not list. ``highs`` are the upper edges, beside these; None where no target is a band.

        Raises TypeError for anything but a contiguous array of the right type, ValueError for sizes that do not fit.
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
    def edges(self, user: int) -> tuple[Floats, Floats]:
        """(r,) both edges of a user's target."""

class Questions:
    """The questions of any number of users; made by `excalibr._solver.seam`."""

    def __init__(
        self, checked: Checked, by_user: tuple[Any, ...], asked: tuple[Any, ...], terms: tuple[Any, ...] | None
    ) -> None: ...
    def __len__(self) -> int: ...
    def cancel(self) -> None:
        """Make running ranges stop; the users that are left have no answer."""

class Setting:
    """What a plain question has beside scores, rows and target; calls with equal options and slots share it."""

    def __init__(self, position_weights: Floats, trade_off: float, asked: tuple[Any, ...]) -> None: ...

def solve_range(questions: Questions, first: int, last: int) -> tuple[Any, ...]:
    """Solve the users first … last − 1: rankings, weights, counts, prices, gaps, and what each solve took.

    Prices are counts by user, categories and values: of what the candidates have who can be shown.
    """

def solve_user(questions: Questions, user: int, verbose: bool = False) -> tuple[Any, ...]:
    """Solve one user: rankings, weights, prices (categories and values), gap, and what the solve took."""

def solve_alone(checked: Checked, setting: Setting) -> tuple[Any, ...]:
    """The same for the only user in ``checked``, with no options beyond the setting."""

def measure_range(
    questions: Questions, places: Integers, weights: Floats, counts: Integers, first: int, last: int
) -> Floats:
    """(users, 6) measures of the lotteries of a range of users."""

class Curve:
    """Solves of one user at any trade-offs, each started from what the ones before found."""

    def __init__(self, questions: Questions, user: int) -> None: ...
    @property
    def categories(self) -> Integers:
        """The categories that prices are of: all that the candidates have who can be shown."""

    def solve(
        self,
        trade_off: float,
        tolerance: float,
        max_sorts: int,
        time_limit: float,
        verbose: bool,
        prices: Floats | None,
    ) -> tuple[tuple[Any, ...], float, float, float]: ...
    def gap_at(self, trade_off: float, rankings: Integers, weights: Floats, prices: Floats) -> float: ...
    def relevance_floor(self, loss: float) -> float: ...
