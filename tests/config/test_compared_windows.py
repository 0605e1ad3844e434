"""The key `against`: what windows are compared with beside the reference."""

from configurations import File, model


def test_nothing_is_compared_unless_it_is_asked_for(file: File) -> None:
    assert file.spec(model()).keys.against == ()


def test_spans_are_named_by_their_days(file: File) -> None:
    spec = file.spec(model(keys='against = ["previous", "4w", "7d"]'))

    assert spec.keys.against == ("previous", "28d", "7d")


def test_a_span_that_only_short_windows_fit_into_is_none(file: File) -> None:
    text = model(keys='windows = ["1d", "7d", "30d"]\nagainst = ["28d"]')

    assert file.spec(text).keys.against == ("28d",)


SEASONAL = '[models.reference]\nfile = "reference.parquet"\nseason = "week"\n'


def test_a_season_is_part_of_the_reference(file: File) -> None:
    spec = file.spec(model(tables=SEASONAL))

    assert spec.season == "week"
    assert file.spec(model()).season == ""
