import numpy as np
import pytest
from scipy import sparse

from excalibr._sparse import build_rows, freeze_rows, read_rows
from excalibr.errors import InputError, InputTypeError


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array, np.array])
def test_any_matrix_is_read_as_sparse_rows(kind: type) -> None:
    rows = read_rows("histories", kind([[0, 1], [2, 0]]), np.float32)
    assert isinstance(rows, sparse.csr_array)
    assert rows.dtype == np.float32
    assert rows.toarray().tolist() == [[0, 1], [2, 0]]


def test_what_is_no_matrix_of_numbers_is_refused() -> None:
    with pytest.raises(InputTypeError, match="histories: cannot be read as a sparse matrix"):
        read_rows("histories", [["a"]])
    with pytest.raises(InputError, match=r"histories: have shape \(2,\), must have shape \(rows, columns\)"):
        read_rows("histories", [1, 2])


def test_rows_are_built_from_their_arrays_and_frozen() -> None:
    rows = freeze_rows(build_rows([1.0, 2.0, 3.0], [2, 0, 1], np.array([0, 2, 3]), 3))
    assert rows.toarray().tolist() == [[2, 0, 1], [0, 3, 0]]
    with pytest.raises(ValueError, match="read-only"):
        rows.data[0] = 5.0
