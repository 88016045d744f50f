"""Spark, for rows that outgrow a machine: a session, and a file or table there as a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from howsure.errors import InputError
from howsure.tables.table_files import SUFFIXES, form_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["frame_of", "session"]


def session(master: str | None = None) -> SparkSession:
    """The session of this process, or a new one.

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
        found: SparkSession = (builder.master(master) if master else builder).getOrCreate()
        if master and found.sparkContext.master != master:
            what = f"a session on {found.sparkContext.master} is there already"
            raise InputError(what, where=f"--master {master}", remedy="stop it first, or leave the master out")
    except (PySparkException, Py4JError, RuntimeError, OSError) as error:
        where = f"--master {master}" if master else "--engine spark"
        what = " ".join(str(error).strip().split("\n")[0].split())[:200]
        remedy = "is Java 17 or newer installed, and the master running?"
        raise InputError(f"Spark does not start: {what}", where=where, remedy=remedy) from error
    return found


def frame_of(spark: SparkSession, name: str) -> DataFrame:
    """Rows of a file, folder, glob or address that the cluster reaches, or of a table of its catalogue.

    Names that end in .parquet, .csv, .tsv, .jsonl or .ndjson, also .gz behind text, and names with a slash, which are
    Parquet unless they say otherwise, are paths; any other is a table's.

    Raises
    ------
    InputError
        When Spark finds nothing there.
    """
    from pyspark.errors import PySparkException

    form = form_of(name)
    try:
        if form == "parquet" or (form is None and "/" in name):
            return spark.read.parquet(name)
        if form == "csv":
            tab = ".tsv" in name
            reader = spark.read.option("header", True).option("mode", "FAILFAST").option("multiLine", True)
            return reader.option("sep", "\t" if tab else ",").option("escape", '"').csv(name)
        if form == "json":
            return spark.read.option("mode", "FAILFAST").json(name)
        return spark.table(name)
    except PySparkException as error:
        what = " ".join(str(error).strip().split("\n")[0].split())[:200]
        remedy = f"give a table of Spark, or a path that its workers reach ({', '.join(SUFFIXES)})"
        raise InputError(f"cannot be read by Spark: {what}", where=name, remedy=remedy) from error
