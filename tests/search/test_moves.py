"""Each move's gain as the search computes it, against the value of the moved ranking computed anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from excalibr.search import SearchProgram
from excalibr.search.moves import best_insertion, best_replacement, best_swap, insert, replace, swap
from excalibr.search.program import Terms, terms_of
from excalibr.search.state import State, evaluate, load, new_state
from tests.search.programs import larger_programs, naive_value, obeys_groups, some_rankings


def loaded(program: SearchProgram) -> tuple[Terms, State, SearchProgram]:
    """A ranking under improvement, and the program with its slots by falling weight, as the kernel sees them."""
    weights = np.sort(program.position_weights)[::-1].copy()
    program = program._replace(position_weights=weights)
    terms = _plain(terms_of)(*program)
    sizes = (len(program.gains), len(weights), len(program.base), len(program.group_limits))
    state = _plain(new_state)(*sizes, terms.pair_count)
    _plain(load)(terms, state, some_rankings(program, 1)[0])
    return terms, state, program


def _plain(function: Any) -> Any:
    """The function by itself: inner functions are not callable from Python once compiled, their sources are."""
    return getattr(function, "py_func", function)


def gain_of(program: SearchProgram, ranking: list[int], moved: list[int]) -> float:
    return naive_value(program, moved) - naive_value(program, ranking)
