"""Segments, serving rows and references of versions in the configuration."""

import pytest
from configurations import File, model

from monitor.core.clock import from_iso
from monitor.records.reading import ServingRule

VERSIONED = 'score = "score"\nthreshold = 0.5\nversion = "v"'


def test_segments_are_columns_in_the_order_of_the_file(file: File) -> None:
    spec = file.spec(model(keys='segments = ["origin", "carrier"]'))

    assert spec.reading.segments == ("origin", "carrier")


@pytest.mark.parametrize(
    ("tables", "fault"),
    [
        ("", 'every segment is named once: got "g" twice'),
        (
            '[models.control]\narm_column = "g"\ncontrol_value = 1\ntreatment_value = 2',
            'the arms of [models.control] are segments already: leave out "g"',
        ),
    ],
)
def test_segments_that_cannot_be_are_faults(file: File, tables: str, fault: str) -> None:
    text = model(keys='segments = ["g", "g"]', tables=tables)

    assert f'models[0] "late".segments: {fault}' in file.faults_of(text)


def test_serving_values_are_canonical_text_and_the_column_is_no_feature(file: File) -> None:
    spec = file.spec(
        model(predictions=VERSIONED, tables='[models.serving]\ncolumn = "live"\nvalues = [true, "yes"]')
    )

    assert spec.reading.serving == ServingRule(column="live", values=("1", "yes"))
    assert spec.predictions.column_of("serving") == "live"


def test_serving_needs_versions_and_values(file: File) -> None:
    fault = "rows that do not serve count for their version only: give predictions.version"

    assert file.faults_of(model(tables='[models.serving]\ncolumn = "live"\nvalues = [1]')) == [
        f'models[0] "late".serving: {fault}'
    ]
    assert file.faults_of(
        model(predictions=VERSIONED, tables='[models.serving]\ncolumn = "live"\nvalues = []')
    ) == ['models[0] "late".serving.values: must have at least one entry: got []']


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


def test_a_reference_of_a_version_is_checked_as_the_default_is(file: File) -> None:
    second = '[models.reference.versions."2"]\nfile = "b.txt"\ntable = "b"'
    place = 'models[0] "late".reference.versions'

    assert file.faults_of(model(tables=f'[models.reference]\nfile = "a.csv"\n{second}')) == [
        f"{place}: a reference for each version needs predictions.version",
        f"{place}.2: give exactly one of file, table, query and from + to: got file and table",
        f'{place}.2.file: must end in .parquet or .csv: got "b.txt"',
    ]


def test_a_mistyped_key_of_a_version_s_reference_is_named(file: File) -> None:
    tables = '[models.reference]\nfile = "a.csv"\n[models.reference.versions."2"]\nfil = "b.csv"'
    (fault,) = file.faults_of(model(predictions=VERSIONED, tables=tables))

    assert fault == 'models[0] "late".reference.versions.2.fil: unknown key; did you mean "file"?'
