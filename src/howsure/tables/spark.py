"""Start a Spark session, and open its files or tables as frames, for rows that do not fit on one machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from howsure.errors import InputError, first_line
from howsure.tables.table_files import SUFFIXES, file_format

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["read_spark_table", "start_session"]


def start_session(master: str | None = None) -> SparkSession:
    """Return the session of this process, or start one.

    Parameters
    ----------
    master
        Such as spark://host:7077 or local[4]; None takes what Spark is configured with, else this machine.

    Raises
    ------
    InputError
        When PySpark or its Java is missing, or the master cannot be reached.
    """
    try:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError as error:
        remedy = "pip install 'howsure[spark]', and Java 17 or newer"
        raise InputError("PySpark is not installed", where="--engine spark", remedy=remedy) from error
    builder = SparkSession.builder.appName("howsure").config("spark.ui.showConsoleProgress", "false")
    try:
        session: SparkSession = (builder.master(master) if master else builder).getOrCreate()
        if master and session.sparkContext.master != master:
            what = f"a session on {session.sparkContext.master} is there already"
            raise InputError(what, where=f"--master {master}", remedy="stop it first, or leave the master out")
    except (PySparkException, Py4JError, RuntimeError, OSError) as error:
        where = f"--master {master}" if master else "--engine spark"
        remedy = "is Java 17 or newer installed, and the master running?"
        raise InputError(f"Spark does not start: {first_line(error)}", where=where, remedy=remedy) from error
    return session


def read_spark_table(session: SparkSession, name: str) -> DataFrame:
    """Return the rows of a file, folder, glob or address that the cluster reaches, or of a table of its catalogue.

    Parameters
    ----------
    session
        As `start_session` returns it.
    name
        A path if it ends in .parquet, .csv, .tsv, .jsonl or .ndjson (text also with .gz behind it), or has a slash:
        then it is Parquet unless it ends otherwise. Any other name is that of a table.

    Raises
    ------
    InputError
        When Spark finds nothing there.
    """
    from pyspark.errors import PySparkException

    kind = file_format(name)
    try:
        if kind == "parquet" or (kind is None and "/" in name):
            return session.read.parquet(name)
        if kind == "csv":
            reader = session.read.option("header", True).option("mode", "FAILFAST").option("multiLine", True)
            return reader.option("sep", "\t" if ".tsv" in name else ",").option("escape", '"').csv(name)
        if kind == "json":
            return session.read.option("mode", "FAILFAST").json(name)
        return session.table(name)
    except PySparkException as error:
        remedy = f"give a table of Spark, or a path that its workers reach ({', '.join(SUFFIXES)})"
        raise InputError(f"cannot be read by Spark: {first_line(error)}", where=name, remedy=remedy) from error
