"""What tests of tables share: rows in DuckDB that are grouped there, however few."""

import pytest

from howsure.rows import to_cells


@pytest.fixture(scope="module")
def grouped_by_duckdb():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(to_cells, "_FEW_ROWS", 0)
        yield
