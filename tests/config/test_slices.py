"""Segments, serving rows and references of versions in the configuration."""

from configurations import File, model

from monitor.core.clock import from_iso
from monitor.records.reading import ServingRule

VERSIONED = 'score = "score"\nthreshold = 0.5\nversion = "v"'


def test_segments_are_columns_in_the_order_of_the_file(file: File) -> None:
    spec = file.spec(model(keys='segments = ["origin", "carrier"]'))

    assert spec.reading.segments == ("origin", "carrier")


def test_serving_values_are_canonical_text_and_the_column_is_no_feature(file: File) -> None:
    spec = file.spec(
        model(predictions=VERSIONED, tables='[models.serving]\ncolumn = "live"\nvalues = [true, "yes"]')
    )

    assert spec.reading.serving == ServingRule(column="live", values=("1", "yes"))
    assert spec.predictions.column_of("serving") == "live"


def test_versions_have_references_of_their_own(file: File) -> None:
    spec = file.spec(
        model(
            predictions=VERSIONED,
            tables="""
            [models.reference]
            file = "first.parquet"
            [models.reference.versions."late_gb-2"]
            file = "second.csv"
            [models.reference.versions.late_gb-1]
            from = "2013-01-01"
            to = "2013-02-01"
            """,
        )
    )

    assert spec.reference is not None
    (one, first), (two, second) = spec.reference.versions
    assert (one, two) == ("late_gb-1", "late_gb-2")
    assert (first.start, first.end) == (from_iso("2013-01-01"), from_iso("2013-02-01"))
    assert (spec.reference.file, second.file) == ("first.parquet", "second.csv")
