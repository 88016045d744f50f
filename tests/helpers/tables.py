"""Cells, runs and cubes of a table, as `howsure.read` gives them; a pattern of files is one table."""

import howsure
from howsure.results.table_source import TableSource
from howsure.rows.columns import TableOptions
from howsure.rows.formats import is_glob
from howsure.rows.to_cells import make_cells, make_runs


def read_cells(given, columns=None, **options):
    if isinstance(given, str) and is_glob(given):
        return TableSource(given, TableOptions()).group(make_cells)
    return howsure.read(given, columns=columns, **options).cells()


def read_runs(given, columns=None, **options):
    if isinstance(given, str) and is_glob(given):
        return TableSource(given, TableOptions()).group(make_runs)
    return howsure.read(given, columns=columns, **options).runs()


def read_cubes(given, columns=None, **options):
    return howsure.read(given, columns=columns, **options).cubes()
