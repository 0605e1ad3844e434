"""Windows against the same phase of earlier periods, beside pandas and SciPy on raw rows."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from keyed_models import with_changes
from memory import MemorySource
from picking import only
from scipy import stats
from synthetic import READING, Monitored, labels_of, monitored_of, rows_of

from monitor.core.array_types import Floats
from monitor.core.clock import DAY, HOUR, from_iso
from monitor.core.measurement import Measurement, Reason
from monitor.measures.measurement_comparison import SEASON
from monitor.measures.measurement_row import MeasurementRow
from monitor.measures.shift.seasonal_shift import MEAN, SEASONAL
from monitor.pipeline.windows import moment_comparison_rows, window_rows
from monitor.specs.model_spec import ReferenceSpec
from monitor.specs.model_table import BudgetTable
from monitor.states.counters import Counters
from monitor.store.sql_store import SqlStore
from monitor.windows.window_ends import Window, parse_window

READ = replace(READING, numeric=("temp",), categorical=("town",), horizon=90 * DAY)
LEVEL, START = 0.95, from_iso("2024-01-04")  # a Thursday, as 1970-01-01 was: weeks end here


def log_of(days: int, *, per_day: int = 48, seed: int = 3, summer: float = 0.0) -> pd.DataFrame:
    """Days of their own: each week's temperatures lie around a mean of its own, all of them in summer."""
    rng = np.random.default_rng(seed)
    event = START + np.arange(days * per_day) * (DAY // per_day)
    weeks = rng.normal(0, 0.3, days // 7 + 1)
    return pd.DataFrame(
        {
            "event": event,
            "score": rng.integers(0, 64, len(event)) / 64 + 1 / 128,
            "temp": summer + weeks[(event - START) // (7 * DAY)] + rng.normal(size=len(event)),
            "town": rng.choice(["a", "b", "c"], len(event)),
        }
    )


def columns_of(rows: pd.DataFrame) -> dict[str, Any]:
    return {
        "score": rows["score"].to_numpy(),
        "feature:temp": rows["temp"].to_numpy(),
        "feature:town": pa.array(rows["town"].tolist()),
    }


def weekly(name: str) -> Window:
    """A window; of a week the ends are a week apart, so that few are kept."""
    return parse_window(name, HOUR, 7 * DAY if name == "7d" else None)


def model(
    log: pd.DataFrame, store: SqlStore, *windows: str, season: str = "week", **options: Any
) -> Monitored:
    """A model on the log; its reference was another season."""
    event = log["event"].to_numpy()
    names = [f"p{at}" for at in range(len(event))]
    predictions = pa.table({"id": names, "event_time": event, "logged_at": event, **columns_of(log)})
    monitored = monitored_of(
        MemorySource(predictions, labels_of([])),
        store,
        reading=options.pop("reading", replace(READ, labelled=False)),
        table=pa.table(columns_of(log_of(21, seed=8))),
        windows=tuple(map(weekly, windows or ("7d",))),
        labels=None,
        **options,
    )
    spec = with_changes(monitored.model.spec, reference=ReferenceSpec(file="winter"), season=season)
    return monitored.other(spec=spec)


def spans_of(end: int, length: int, count: int, step: int = 7) -> list[tuple[int, int]]:
    return [(end - back * step * DAY - length, end - back * step * DAY) for back in range(1, count + 1)]


def within(log: pd.DataFrame, *spans: tuple[int, int]) -> pd.DataFrame:
    parts = [log[(log["event"] >= start) & (log["event"] < end)] for start, end in spans]
    return pd.concat(parts)


def seasonal(rows: Sequence[MeasurementRow]) -> list[MeasurementRow]:
    return [row for row in rows if row.against == SEASON]


def of_season(rows: Sequence[MeasurementRow], measure: str, subject: str) -> Measurement:
    return only(rows, measure, subject=subject, against=SEASON).measurement


def cells_of(monitored: Monitored, values: pd.Series) -> Floats:
    """Counts in the reference's deciles."""
    grid = monitored.model.counting.output_grids["feature:temp"]
    edges = [-np.inf, *(grid.edges[at] for at in grid.deciles), np.inf]  # type: ignore[union-attr]
    return np.histogram(values, edges)[0].astype(float)


def index_of(one: Floats, other: Floats) -> float:
    p, q = ((side + 0.5) / (side + 0.5).sum() for side in (one, other))
    return float(((p - q) * np.log(p / q)).sum())


def test_the_reference_is_the_sum_of_the_panes_of_the_same_phase(
    fresh_store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, end = log_of(70), START + 69 * DAY + 6 * HOUR
    handed: list[Sequence[Counters]] = []
    original = moment_comparison_rows.compare_with_seasons

    def spied(target: Any, now: Counters, periods: Sequence[Counters], first: int) -> list[MeasurementRow]:
        handed.append(periods)
        return original(target, now, periods, first)

    monkeypatch.setattr(window_rows, "compare_with_seasons", spied)
    monitored = model(log, fresh_store, "1d")

    monitored.cycle(end + monitored.model.spec.ready_after, shown=True)

    counting = monitored.model.counting
    grid = counting.output_grids["feature:temp"]
    newest = next(periods for periods in handed if len(periods) == 8)
    spans = spans_of(end, DAY, 8)
    for period, span in zip(newest, spans, strict=True):
        values = within(log, span)["temp"].to_numpy()
        counts = np.bincount(grid.value_cells(values, np.zeros(len(values), bool)), minlength=grid.size)  # type: ignore[union-attr]
        assert counting.histogram_view(period, "feature:temp").counts.tolist() == counts.tolist()
        assert int(period.dense_block("volume")[0]) == len(values)


def others_of(parts: Sequence[pd.Series]) -> list[pd.Series]:
    return [pd.concat([*parts[:at], *parts[at + 1 :]]) for at in range(len(parts))]


def squares_of(parts: Sequence[pd.Series]) -> list[float]:
    pairs = zip(parts, others_of(parts), strict=True)
    return [float(stats.ks_2samp(part, rest).statistic) ** 2 for part, rest in pairs]


def band_of(now: pd.Series, parts: Sequence[pd.Series]) -> tuple[float, float]:
    """Mean of the periods' means, and half of the width of the expected band."""
    means, k = np.asarray([part.mean() for part in parts]), len(parts)
    sampling = np.mean([np.var(part, ddof=1) / len(part) for part in parts])
    between = max(np.var(means, ddof=1) - sampling, 0)
    variance = between * (1 + 1 / k) + np.var(now, ddof=1) / len(now) + sampling / k
    return float(means.mean()), float(stats.t.ppf(0.5 + LEVEL / 2, k - 1) * np.sqrt(variance))


def test_index_critical_value_distance_and_band_are_those_of_scipy(fresh_store: SqlStore) -> None:
    log, end, k = log_of(70, per_day=192), START + 70 * DAY, 8
    monitored = model(log, fresh_store, "7d")

    _, rows = monitored.cycle(end + HOUR)

    spans = spans_of(end, 7 * DAY, k)
    now, parts = within(log, (end - 7 * DAY, end))["temp"], [within(log, span)["temp"] for span in spans]
    cells, own = [cells_of(monitored, part) for part in parts], cells_of(monitored, now)
    total, n, m = np.sum(cells, axis=0), own.sum(), np.sum(cells)
    assert of_season(rows, "stability_index", "feature:temp").value == pytest.approx(index_of(own, total))
    assert total.min() * n / m >= 50  # so that the limit by chance is that of chi-squared
    excess = [index_of(one, total - one) - 9 * (1 / one.sum() + 1 / (m - one.sum())) for one in cells]
    assert np.mean(excess) > 0
    limit = stats.chi2.ppf(LEVEL, 9) * (1 / n + 1 / m)
    limit += stats.f.ppf(LEVEL, 1, k - 1) * (1 - 1 / k**2) * np.mean(excess)
    found = of_season(rows, "stability_index_critical", "feature:temp").value
    assert found == pytest.approx(limit)

    score, scores = within(log, (end - 7 * DAY, end))["score"], [within(log, span)["score"] for span in spans]
    distance = float(stats.ks_2samp(score, pd.concat(scores)).statistic)
    assert of_season(rows, "ks_distance", "score").value == pytest.approx(distance)
    by_chance = stats.kstwobign.sf(distance * np.sqrt(n * m / (n + m)))
    rarer = stats.f.sf(distance**2 / (np.mean(squares_of(scores)) * (1 - 1 / k**2)), 1, k - 1)
    assert of_season(rows, "ks_p_value", "score").value == pytest.approx(max(by_chance, rarer))

    mean, half = band_of(now, parts)
    row = of_season(rows, MEAN, "feature:temp")
    assert row.value == pytest.approx(now.mean() - mean)
    assert row.interval is not None
    assert row.interval.upper - row.interval.lower == pytest.approx(2 * half)
    assert row.detail is not None
    (figures,) = row.detail.rows
    assert list(figures) == [pytest.approx(number) for number in (mean, mean - half, mean + half, m)]


def test_a_summer_that_is_far_from_winter_is_as_its_season(fresh_store: SqlStore) -> None:
    log, end = log_of(70, summer=2.0, seed=4), START + 70 * DAY

    _, rows = model(log, fresh_store).cycle(end + HOUR)

    winter = only(rows, "stability_index", subject="feature:temp", against="").measurement.value
    index, limit = (
        only(rows, name, subject="feature:temp", against=SEASON).measurement.value
        for name in ("stability_index", "stability_index_critical")
    )
    assert winter is not None
    assert index is not None
    assert limit is not None
    assert winter > 1
    assert index < limit


def test_a_season_beyond_the_references_range_has_a_mean_and_says_that_cells_see_nothing(
    fresh_store: SqlStore,
) -> None:
    _, rows = model(log_of(36, summer=9.0), fresh_store).cycle(START + 36 * DAY + HOUR)

    index = of_season(rows, "stability_index", "feature:temp")
    assert index.reason is Reason.OUT_OF_RANGE
    assert index.detail is not None
    assert index.detail.rows == (
        ("most numbers of earlier periods lie beyond the reference's range, in cells without an end",),
    )
    assert of_season(rows, "ks_p_value", "feature:temp").reason is Reason.OUT_OF_RANGE
    assert of_season(rows, MEAN, "feature:temp").value is not None
    assert of_season(rows, "stability_index", "score").value is not None


@pytest.fixture
def years() -> pd.DataFrame:
    """Four years and a half of summers and winters, each year of its own."""
    log = log_of(1_640, per_day=6)
    day = (log["event"] - START) / DAY
    shift = np.random.default_rng(5).normal(0, 0.1, 6)[(day // 365).astype(int)]
    return log.assign(temp=log["temp"] * 0.8 + shift - 1.5 * np.cos(2 * np.pi * day / 365.25))


def test_a_summer_is_as_the_summers_of_earlier_years(fresh_store: SqlStore, years: pd.DataFrame) -> None:
    long = replace(READ, labelled=False, horizon=1_640 * DAY, pane=DAY)
    end = from_iso("2028-06-01")

    _, rows = model(years, fresh_store, "month", season="year", reading=long).cycle(end + HOUR)

    spans = spans_of(end, 31 * DAY, 4, step=52 * 7)
    means = [within(years, span)["temp"].mean() for span in spans]
    found = of_season(rows, MEAN, "feature:temp")
    now = within(years, (end - 31 * DAY, end))["temp"].mean()
    assert found.value == pytest.approx(now - np.mean(means))
    assert found.interval is not None
    assert found.interval.lower < 0 < found.interval.upper
    index, limit, far = (
        only(rows, name, subject="feature:temp", against=against).measurement.value
        for name, against in (
            ("stability_index", SEASON),
            ("stability_index_critical", SEASON),
            ("stability_index", ""),
        )
    )
    assert index is not None
    assert limit is not None
    assert far is not None
    assert index < limit
    assert far > 0.25


def test_years_beyond_the_horizon_serve_once_they_were_counted(
    fresh_store: SqlStore, years: pd.DataFrame
) -> None:
    short = replace(READ, labelled=False, horizon=40 * DAY, pane=DAY)
    monitored = model(years, fresh_store, "month", season="year", reading=short)
    first = from_iso("2025-01-01")
    for month in range(42):
        year, at = divmod(month, 12)
        monitored.cycle(from_iso(f"{2025 + year}-{at + 1:02}-02"))

    _, rows = monitored.other().cycle(from_iso("2028-06-02"))
    _, early = model(years, fresh_store, "month", season="year", reading=short).cycle(from_iso("2028-06-03"))

    end = from_iso("2028-06-01")
    spans = [span for span in spans_of(end, 31 * DAY, 8, step=52 * 7) if span[0] >= first - 40 * DAY]
    assert len(spans) == 3
    found = of_season(rows, MEAN, "feature:temp")
    assert found.detail is not None
    assert found.detail.rows[0][3] == len(within(years, *spans))
    assert seasonal(early) == seasonal(rows)


def test_a_log_that_is_too_young_for_years_names_the_day_and_the_horizon(fresh_store: SqlStore) -> None:
    _, rows = model(log_of(60), fresh_store, season="year").cycle(START + 60 * DAY + HOUR)

    told = of_season(rows, "stability_index", "score").detail
    assert told is not None
    assert told.rows[0][0] == (
        "0 of 3 earlier periods of 364 days are counted with records; the third is counted from "
        '2027-01-07 on; horizon = "1099d" counts what the log holds of them'
    )


def test_below_three_periods_every_measure_says_too_short_and_when_it_will_be_enough(
    fresh_store: SqlStore,
) -> None:
    _, rows = model(log_of(23), fresh_store).cycle(START + 22 * DAY + HOUR)

    against = seasonal(rows)
    subjects = {row.subject for row in against}
    assert subjects == {"score", "prediction", "feature:temp", "feature:town"}
    assert {row.measure for row in against} == {*SEASONAL, MEAN}
    assert {row.measurement.reason for row in against} == {Reason.TOO_SHORT}
    (told,) = {row.measurement.detail.rows[0][0] for row in against if row.measurement.detail is not None}
    first, second = str(told).split("; ")
    assert first == "2 of 3 earlier periods of 7 days are counted with records"
    assert second == "the third is counted from 2024-02-01 on"


def test_a_period_of_a_long_window_is_as_many_whole_weeks_as_hold_it(fresh_store: SqlStore) -> None:
    _, rows = model(log_of(60), fresh_store, "30d").cycle(START + 60 * DAY + HOUR)

    told = of_season(rows, "stability_index", "score").detail
    assert told is not None
    assert str(told.rows[0][0]).startswith("0 of 3 earlier periods of 35 days are counted")
    assert str(told.rows[0][0]).endswith('; horizon = "135d" counts what the log holds of them')


def test_weeks_without_records_and_unusual_days_are_left_out_of_the_periods(fresh_store: SqlStore) -> None:
    log, end = log_of(70), START + 70 * DAY
    gap = (end - 21 * DAY, end - 14 * DAY)  # the second period
    log = log[(log["event"] < gap[0]) | (log["event"] >= gap[1])]
    first = (end - 14 * DAY) // DAY
    days = ((first, first + 1),)  # the first two of the first period
    budget = BudgetTable().model_copy(update={"unusual_days": days})

    _, rows = model(log, fresh_store, budget=budget).cycle(end + HOUR)

    spans = [(start, until) for start, until in spans_of(end, 7 * DAY, 8) if start != gap[0]]
    spans[0] = (spans[0][0] + 2 * DAY, spans[0][1])
    means = [within(log, span)["temp"].mean() for span in spans]
    row = of_season(rows, MEAN, "feature:temp")
    assert row.value == pytest.approx(within(log, (end - 7 * DAY, end))["temp"].mean() - np.mean(means))
    assert row.detail is not None
    assert row.detail.rows[0][3] == len(within(log, *spans))


def test_a_feature_that_came_late_is_too_short_alone_and_a_constant_one_has_a_value(
    fresh_store: SqlStore,
) -> None:
    log, end = log_of(70), START + 70 * DAY
    log["score"] = 0.5
    log.loc[log["event"] < end - 20 * DAY, "temp"] = np.nan

    _, rows = model(log, fresh_store).cycle(end + HOUR)

    late = of_season(rows, MEAN, "feature:temp")
    assert late.reason is Reason.TOO_SHORT
    assert late.detail is not None
    assert late.detail.rows == (("fewer than 3 of 8 earlier periods hold it",),)
    assert of_season(rows, "ks_distance", "feature:temp").reason is Reason.TOO_SHORT
    assert of_season(rows, "stability_index", "score").value == 0
    assert of_season(rows, "ks_p_value", "score").value == 1


def test_a_replay_cycles_and_a_restart_keep_the_same_rows(
    new_store: Callable[[], SqlStore],
) -> None:
    log, fresh_store, other_store = log_of(40, per_day=12), new_store(), new_store()
    replayed, lived = model(log, fresh_store, "1d"), model(log, other_store, "1d")

    replayed.replay(START + 33 * DAY, START + 36 * DAY, 6 * HOUR)
    for at in range(1, 13):
        if at % 5 == 0:
            lived = lived.other()
        lived.cycle(START + 33 * DAY + at * 6 * HOUR)

    kept, again = (rows_of(store)["snapshots"] for store in (fresh_store, other_store))
    assert [row for row in kept if SEASON in row]
    assert kept == again
