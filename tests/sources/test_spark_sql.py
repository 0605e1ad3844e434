"""What Spark is asked, as far as that can be told without one."""

import sys

import pytest

from monitor.core.errors import SourceError
from monitor.sources import open_source
from monitor.sources.engines import spark
from monitor.sources.engines.readers.spark_cluster import SparkReader
from monitor.sources.engines.schemes import engine_of_cluster
from monitor.sources.sql.statements import ColumnKind, WantedKind
from monitor.specs.model_spec import Relation, SourceSpec


def spec(url: str) -> SourceSpec:
    return SourceSpec(name="lake", url=url, engine="spark")


@pytest.mark.parametrize(
    ("relation", "expected"),
    [
        (Relation(table="serving.log"), "`serving`.`log` AS p"),
        (Relation(table="s3a://bucket/a.b`c"), "parquet.`s3a://bucket/a.b``c` AS p"),
        (Relation(table="log", where="x > 1"), "(SELECT * FROM `log` AS t WHERE (\nx > 1\n)) AS p"),
    ],
)
def test_a_name_with_a_slash_is_a_path_of_parquet_files(relation: Relation, expected: str) -> None:
    assert engine_of_cluster().relation_sql(relation, "p") == expected


@pytest.mark.parametrize(
    ("want", "kind", "sql", "becomes"),
    [
        (WantedKind.NUMBER, "decimal(10,2)", "CAST(p.x AS DOUBLE)", ColumnKind.NUMBER),
        (WantedKind.NUMBER, "varchar(9)", "CAST(p.x AS STRING)", ColumnKind.TEXT),
        (WantedKind.TEXT, "boolean", "CAST(p.x AS STRING)", ColumnKind.TEXT),
        (WantedKind.TIME, "date", "CAST(p.x AS TIMESTAMP_NTZ)", ColumnKind.NAIVE),
        (WantedKind.TIME, "int", "CAST(p.x AS BIGINT)", ColumnKind.EPOCH),
        (WantedKind.VALUE, "double", "CAST(p.x AS DOUBLE)", ColumnKind.NUMBER),
        (WantedKind.VALUE, "boolean", "CAST(p.x AS STRING)", ColumnKind.TEXT),
    ],
)
def test_a_column_is_cast_to_what_its_role_needs(
    want: WantedKind, kind: str, sql: str, becomes: ColumnKind
) -> None:
    found = engine_of_cluster().output_column(want, "role", "p.x", kind)

    assert (found.sql, found.kind) == (sql, becomes)


@pytest.mark.parametrize(
    ("want", "kind"),
    [
        (WantedKind.TEXT, "array<int>"),
        (WantedKind.NUMBER, "timestamp"),
        (WantedKind.TIME, "boolean"),
        (WantedKind.TIME, "map<int,int>"),
    ],
)
def test_a_type_that_is_not_read_is_refused_by_name(want: WantedKind, kind: str) -> None:
    with pytest.raises(SourceError, match=rf"column x \(role\) has the type {kind.replace('(', '.')}"):
        engine_of_cluster().output_column(want, "role", "p.x", kind)


def test_microseconds_are_told_by_spark_where_it_has_a_type_for_them() -> None:
    assert spark.micros_of_column("c1", ColumnKind.EPOCH, "ms", "UTC") == "try_multiply(c1, 1000)"
    assert (
        spark.micros_of_column("c1", ColumnKind.INSTANT, None, "Europe/Vienna")
        == "unix_micros(CAST(c1 AS TIMESTAMP))"
    )
    assert spark.micros_of_column("c1", ColumnKind.NAIVE, None, "UTC") == "unix_micros(CAST(c1 AS TIMESTAMP))"
    assert spark.micros_of_column("c1", ColumnKind.NAIVE, None, "Europe/Vienna") is None
    assert spark.micros_of_column("c1", ColumnKind.TEXT, None, "UTC") is None


def test_ids_of_different_types_are_compared_as_texts() -> None:
    same = engine_of_cluster().same_id

    assert same("p.x", "l.x", "int", "decimal(10,0)") == "l.x = p.x"
    assert same("p.x", "l.x", "string", "varchar(3)") == "l.x = p.x"
    assert same("p.x", "l.x", "string", "bigint") == "CAST(l.x AS STRING) = CAST(p.x AS STRING)"


def test_a_url_that_is_no_clusters_is_refused() -> None:
    with pytest.raises(SourceError, match="sc://host:15002"):
        open_source(spec("postgresql://db/app"))


def test_where_pyspark_is_missing_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)

    with (
        pytest.raises(SourceError, match=r"pip install 'model-monitor-daemon\[spark\]'"),
        SparkReader(spec("local://2")).open_session(),
    ):
        pass
