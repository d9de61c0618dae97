import pyarrow as pa
import pytest

from tests.tables.attributes import DECADES
from tests.tables.invented import Invented, invented_tables


@pytest.fixture
def tables() -> Invented:
    given = invented_tables(users=12)
    decades = [DECADES[number % 3] for number in range(len(given.items))]
    return Invented(given.candidates, given.items.append_column("decade", pa.array(decades)), given.history)
