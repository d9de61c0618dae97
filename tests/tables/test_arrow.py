import sys

import pytest

from excalibr.errors import MissingExtraError
from excalibr.tables._arrow import _LazyModule, pa, require_arrow

pytest.importorskip("pyarrow")


def test_what_is_asked_for_is_pyarrows_own() -> None:
    import pyarrow

    assert pa.Table is pyarrow.Table
    assert pa.types is pyarrow.types


def test_an_attribute_that_pyarrow_has_not_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Tabel'"):
        _ = pa.Tabel


def test_without_pyarrow_the_first_use_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    module = _LazyModule("pyarrow")
    assert not hasattr(module, "__wrapped__")  # as who inspects it asks
    with pytest.raises(MissingExtraError, match=r"pyarrow is not installed. Hint: pip install 'excalibr\[data\]'."):
        _ = module.Table
    with pytest.raises(MissingExtraError, match="pyarrow is not installed"):
        require_arrow()
