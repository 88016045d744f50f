"""Stand-in until the new formats are merged."""

from howsure.rows.table_files import *  # noqa
from howsure.rows import table_files as _t
from howsure.rows.table_files import find_file_format as find_format  # noqa


def open_rows(connection, name, scratch, *, header=None, sheet=None):
    return _t.open_rows(connection, name, scratch)
