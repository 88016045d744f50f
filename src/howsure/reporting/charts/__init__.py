"""Charts of the report: each function takes a result of `howsure.stats` and returns an Altair chart.

Charts only draw; statistics are computed in `howsure.stats`.
"""

from howsure.errors import InputError

try:
    import altair as alt  # noqa: F401  here, so that a missing extra gives one clear message
except ModuleNotFoundError as error:
    raise InputError(f"the report needs {error.name}", remedy="pip install 'howsure[report]'") from error
