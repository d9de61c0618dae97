# What src/kernel/parts*.cpp bind, for tests only. Programs and answers are in the caller's own units; objectives and
# bounds are less the best gain.
from excalibr._types import Booleans, Floats, Integers

SOURCE_DIGEST: str

def sort_descending(keys: Floats, order: Integers) -> Integers: ...
def sort_best(keys: Floats, count: int, order: Integers) -> Integers: ...
def key_at_rank(keys: Floats, rank: int) -> float: ...
def best_ranking(keys: Floats, count: int, group_of: Integers, limits: Integers, order: Integers) -> Integers: ...
def assign(costs: Floats) -> Integers: ...

class Penalty:
    def __init__(
        self, low: float, high: float, below: float, above: float, smoothing: float = 0.0, base: float = 0.0
    ) -> None: ...
    def cost(self, share: float) -> float: ...
    def conjugate(self, price: float) -> float: ...
    def share_at(self, price: float) -> float: ...
    def curvature_at(self, price: float) -> float: ...
    def lowest_price(self) -> float: ...
    def highest_price(self) -> float: ...
    def slope(self, share: float, rising: bool) -> float: ...

class Program:
    """``penalties`` has a row (low, high, below, above, smoothing, base) a category."""

    def __init__(
        self,
        gains: Floats,
        indptr: Integers,
        columns: Integers,
        values: Floats,
        penalties: Floats,
        position_weights: Floats,
        group_of: Integers,
        group_limits: Integers,
    ) -> None: ...
    def scaled(self) -> tuple[float, Floats, Floats, Integers, float]:
        """The unit, the gains, the slots' weights and the slots, heaviest first, and the steepest weight."""

def merge_two_lists(program: Program, adjusted: Floats) -> Integers | None:
    """All candidates, the best ranking first; None where not every one has one of two categories."""

def project(point: Floats, slots: Floats, order: Integers) -> tuple[Floats, Integers]:
    """The exposure, and where its blocks start."""

def solve_by_proximal_method(
    program: Program, tolerance: float, max_sorts: int
) -> tuple[Floats, Integers, Integers, Floats, float, float, int, int, int]:
    """Exposure, order, block starts, prices, objective, bound, status, sorts and steps."""

def lottery_of_point(
    program: Program, exposure: Floats, order: Integers, block_starts: Integers, most: int
) -> tuple[Integers, Floats, float]:
    """Rankings, weights and how many multiplications it took."""

def tidy(program: Program, rankings: Integers, weights: Floats, most: int) -> tuple[Integers, Floats]: ...
def certify(
    program: Program, rankings: Integers, weights: Floats, prices: Floats, order: Integers
) -> tuple[float, float, float]:
    """Objective, bound and gap."""

def allowed_gap(program: Program, tolerance: float, prices: Floats) -> float: ...

class SimplexMaster:
    def __init__(self, program: Program, room: int, tolerance: float) -> None: ...
    def add(self, ranking: Integers) -> int: ...
    def optimise(self, newest: int, passes: int) -> tuple[bool, float, float, Floats]:
        """Whether it ended, the value by prices and by weights, and the prices."""

    def lottery(self) -> tuple[Integers, Floats]: ...
    def steps(self) -> int: ...
    def __len__(self) -> int: ...

class InteriorMaster:
    def __init__(self, program: Program, room: int, tolerance: float) -> None: ...
    def add(self, ranking: Integers) -> int: ...
    def optimise(self, newest: int, passes: int) -> tuple[bool, float, float, Floats]: ...
    def lottery(self) -> tuple[Integers, Floats]: ...
    def steps(self) -> int: ...
    def __len__(self) -> int: ...

_Answer = tuple[tuple[Integers, Floats], Floats, float, float, float, int, int, int, int]
"""The lottery, prices, objective, bound, gap, engine, status, sorts and steps."""

def solve_program(program: Program, engine: int, tolerance: float, max_sorts: int) -> _Answer: ...
def thin(program: Program, rankings: Integers, weights: Floats) -> tuple[Integers, Floats]: ...

class Sweep:
    def __init__(self, program: Program) -> None: ...
    def solve(
        self, program: Program, scores: Floats, factor: float, first_prices: Floats, tolerance: float, max_sorts: int
    ) -> _Answer: ...

class FreePart:
    def __init__(
        self,
        scores: Floats,
        items: Integers,
        indptr: Integers,
        columns: Integers,
        values: Floats,
        low: Floats,
        high: Floats,
        weights: Floats,
        base: Floats,
        floors: Floats,
        caps: Floats,
        smoothing: float,
        unavailable: Booleans,
        pinned_slots: Integers,
        pinned_candidates: Integers,
        group_of_item: Integers,
        group_limits: Integers,
        position_weights: Floats,
    ) -> None: ...
    def program(
        self, trade_off: float, steepness: float
    ) -> tuple[Floats, Integers, Integers, Floats, Floats, Floats, int]:
        """Gains, rows (indptr, columns, values), penalties, position weights, and how many rows are repeated."""

    def group_limits(self) -> Integers: ...
    def room(self) -> int: ...
    def to_whole(self, rankings: Integers, weights: Floats) -> tuple[Integers, Floats]: ...
    def to_free(self, rankings: Integers, weights: Floats) -> tuple[Integers, Floats]: ...
    def to_reported_prices(self, by_row: Floats, trade_off: float) -> Floats: ...
    def to_row_prices(self, reported: Floats, trade_off: float) -> Floats: ...
    def missed_limits(self, shares: Floats) -> tuple[float, float]: ...
    def extremes(self, values: Floats) -> tuple[float, float]: ...
    def extreme_shares(self, category: int) -> tuple[float, float]: ...
    def most_relevant(self) -> tuple[Integers, Floats]: ...
    def expose(self, rankings: Integers, weights: Floats) -> tuple[Floats, Floats]: ...

class SearchProgram:
    def __init__(
        self,
        gains: Floats,
        indptr: Integers,
        columns: Integers,
        values: Floats,
        penalties: Floats,
        position_weights: Floats,
        charge: float,
        allowance: float,
        group_of: Integers,
        group_limits: Integers,
    ) -> None: ...

class Searcher:
    def __init__(self) -> None: ...
    def best_ranking(
        self, program: SearchProgram, starts: Integers, max_operations: int
    ) -> tuple[Integers, float, bool, bool]:
        """A ranking by slot, its value, and whether all were tried or the effort was limited."""

    def local_optima(
        self, program: SearchProgram, starts: Integers, descents: int, perturbations: int, max_operations: int
    ) -> tuple[Integers, Floats, bool]: ...
    def best_move(
        self, program: SearchProgram, ranking: Integers, kind: str, rank: int
    ) -> tuple[float, int] | None: ...
    def after_moves(
        self, program: SearchProgram, ranking: Integers, moves: Integers
    ) -> tuple[Integers, float, Floats, Integers]:
        """The ranking by rank, its value less the best gain, adjusted gains and the counts of the groups."""

    def even_lottery(
        self,
        program: SearchProgram,
        rankings: Integers,
        weights: Floats,
        relevance: Floats,
        hard: Booleans,
        slack: float,
        max_operations: int,
    ) -> tuple[Integers, Floats, bool, bool]: ...
    def operations(self) -> tuple[int, int]: ...

class EvenMaster:
    def __init__(self) -> None: ...
    def reset(
        self, centre: Floats, most_fall: Floats, most_rise: Floats, budget: float, room: float, value: float
    ) -> None: ...
    def add(self, column: Floats, value: float) -> int: ...
    def optimise(self, max_operations: int) -> bool: ...
    def prices(self) -> Floats: ...
    def level(self) -> float: ...
    def weights(self) -> Floats: ...
