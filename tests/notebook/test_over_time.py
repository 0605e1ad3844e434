"""Lines over time: each window says what `monitor.evaluate` says of its rows alone, the reference first."""

from collections.abc import Callable
from typing import Any

import made_frames
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kept_texts import compare_cases
from sklearn.metrics import roc_auc_score

import monitor
from monitor.core.clock import DAY, HOUR
from monitor.core.errors import MonitorError
from monitor.core.measurement import Measurement
from monitor.measures.catalogue.estimate_measures import ESTIMATED
from monitor.notebook import frame_periods
from monitor.notebook.frame_times import parse_every, window_bounds
from monitor.notebook.over_time import OverTime
from monitor.notebook.time_points import PointKey
from monitor.windows.window_ends import LONGEST

CUT = "2024-01-22"  # three weeks of twelve
KEYS: dict[str, Any] = {
    "score": "score",
    "threshold": 0.4,
    "label": "bad",
    "numeric": ["age"],
    "categorical": ["sector"],
    "resamples": 20,
}


def labelled(seed: int = 1, n: int = made_frames.N) -> pd.DataFrame:
    """A week of predictions with their labels beside."""
    frame = made_frames.predictions(seed, n)
    return frame.merge(made_frames.labels(frame)[["id", "bad"]], on="id", how="left")


def months(days: int = 84, n: int = 12_000, worse_from: float = 1.0) -> pd.DataFrame:
    """Scores with their labels over some days; those after a share of the rows rank nothing."""
    rng = np.random.default_rng(5)
    score = rng.beta(2, 3, n).round(3)
    at = pd.Timestamp("2024-01-01", tz="UTC") + pd.to_timedelta(np.linspace(0, days - 0.01, n), unit="D")
    odds = np.where(np.arange(n) < worse_from * n, score, 0.4)
    return pd.DataFrame(
        {
            "at": at,
            "score": score,
            "bad": (rng.uniform(size=n) < odds).astype(float),
            "age": rng.normal(size=n) + 3.0 * (np.arange(n) > worse_from * n),
            "calm": rng.normal(size=n),
        }
    )


def lines(frame: Any, **changed: Any) -> OverTime:
    keys = KEYS | {"numeric": ["age", "calm"], "categorical": []}
    return monitor.evaluate(frame, **(keys | {"time": "at", "every": "7d"} | changed)).over_time()


def of_whole(evaluated: monitor.Evaluation) -> dict[PointKey, Measurement]:
    """What is measured of the whole, not against the reference."""
    return {
        (row.measure, row.subject): row.measurement
        for row in evaluated.rows
        if row.is_of_whole and not row.against
    }


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_each_window_has_the_values_of_its_rows_alone(task: Any) -> None:
    keys = made_frames.keys(task) | {"resamples": 20}
    frame, reference = made_frames.predictions(), made_frames.reference()
    labels = made_frames.labels(frame)

    over = monitor.evaluate(frame, labels, reference=reference, task=task, every="1d", **keys).over_time()

    spans = [window.span for window in over.windows if not window.of_reference]
    assert len(spans) == 7
    for at, span in enumerate(spans, start=len(over.windows) - len(spans)):
        assert span is not None
        times = frame["at"].astype("int64") // (1 if frame["at"].dt.unit == "us" else 1_000)
        inside = frame[(times >= span[0]) & (times < span[1])]
        alone = of_whole(monitor.evaluate(inside, labels, reference=reference, task=task, **keys))
        there = {key: points[at].measurement for key, points in over.points.items() if key in alone}
        arms = {key for key in alone if key[0].startswith(("control_", "sample_ratio"))}
        assert there == {key: value for key, value in alone.items() if key not in arms}
        assert len(there) > 40
    assert over.plot().text.count("<figure") >= 2
    assert over.sentences[0].startswith(over.figures[0].title.removesuffix(" by day"))


def test_the_whole_is_as_without_windows() -> None:
    keys = KEYS | {
        "reference": made_frames.reference(),
        "event_time": "at",
        "id": "id",
        "segments": ["region"],
    }

    assert monitor.evaluate(labelled(), every="1d", **keys).rows == monitor.evaluate(labelled(), **keys).rows


@pytest.mark.parametrize("at_once", [1, 50, 200])
def test_rows_that_are_counted_in_parts_say_the_same(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {
        "reference": made_frames.reference(),
        "every": "1d",
        "numeric": ["age"],
        "categorical": ["sector"],
    }
    frame = labelled()
    once = lines(frame, **keys)

    monkeypatch.setattr(frame_periods, "_AT_ONCE", at_once)
    assert lines(frame.sample(frac=1.0, random_state=3), **keys).points == once.points


REFERENCE = labelled(seed=3)
MEASURED = KEYS | {"reference": REFERENCE, "event_time": "at", "id": "id"}


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000), st.integers(30, 400), st.sampled_from(["6h", "1d", "2d", "3d"]))
def test_a_window_of_any_odd_rows_says_what_they_say_alone(seed: int, n: int, every: str) -> None:
    """Scores that are none, labels and times that are missing, ids that are repeated, rows in any order."""
    rng = np.random.default_rng(seed)
    frame = labelled(seed=seed, n=n).sample(frac=1.0, random_state=seed)
    frame["score"] = frame["score"].mask(rng.uniform(size=n) < 0.1).where(rng.uniform(size=n) > 0.05, 7.0)
    frame["at"] = frame["at"].mask(rng.uniform(size=n) < 0.05)
    frame["id"] = np.where(rng.uniform(size=n) < 0.1, frame["id"].shift(fill_value="p0"), frame["id"])
    over = monitor.evaluate(frame, **MEASURED, task="binary", every=every).over_time()
    later = [at for at, window in enumerate(over.windows) if not window.of_reference]

    assert sum(over.points["records", ""][at].measurement.value or 0 for at in later) <= n
    at = later[seed % len(later)]
    span = over.windows[at].span
    assert span is not None
    start, end = (pd.Timestamp(moment, unit="us", tz="UTC") for moment in span)
    inside = frame[(frame["at"] >= start) & (frame["at"] < end)]
    if len(inside):
        alone = of_whole(monitor.evaluate(inside, **MEASURED))
        assert {key: points[at].measurement for key, points in over.points.items() if key in alone} == alone


def test_frames_of_other_libraries_give_the_same_lines() -> None:
    frame = months()
    before = frame["at"] < pd.Timestamp(CUT, tz="UTC")
    over = lines(frame[~before], reference=frame[before])

    arrow = [pa.Table.from_pandas(part, preserve_index=False) for part in (frame[~before], frame[before])]
    assert lines(arrow[0], reference=arrow[1]).points == over.points
    columns = [{name: part[name] for name in part} for part in (frame[~before], frame[before])]
    assert lines(columns[0], reference=columns[1]).points == over.points
    assert lines(arrow[0].to_pandas(), reference=WithItem(arrow[1])).points == over.points


class WithItem:
    """A frame with a method `item`, as those of Polars have."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self.item = table.num_rows

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def test_areas_are_those_of_scikit_learn() -> None:
    frame = months()
    over = lines(frame, reference=CUT)

    windows = over.frame.query("measure == 'roc_auc' and subject == ''")
    assert len(windows) == 12
    for row in windows.itertuples():
        inside = frame[(frame["at"] >= row.start) & (frame["at"] < row.end)]
        assert row.value == pytest.approx(roc_auc_score(inside["bad"], inside["score"]), abs=1e-3)
        assert row.n == len(inside)


def test_the_reference_comes_first_and_is_not_judged() -> None:
    over = lines(months(), reference=CUT)

    rows = over.frame.query("measure == 'roc_auc'")
    assert rows["period"].tolist() == 3 * ["reference"] + 9 * ["predictions"]
    assert rows["start"].is_monotonic_increasing
    assert rows["state"].isna().tolist() == 3 * [True] + 9 * [False]
    assert (rows["limit"] == rows["reference"] - 0.05 * rows["reference"]).all(), "5 % below the reference"


def test_the_reference_own_windows_have_the_values_of_their_rows_alone() -> None:
    frame = months()
    reference = frame[frame["at"] < pd.Timestamp(CUT, tz="UTC")]
    over = lines(frame, reference=CUT)
    keys = KEYS | {"numeric": ["age", "calm"], "categorical": [], "event_time": "at"}

    for at, window in enumerate(over.windows[:3]):
        assert window.span is not None
        start, end = (pd.Timestamp(moment, unit="us", tz="UTC") for moment in window.span)
        inside = reference[(reference["at"] >= start) & (reference["at"] < end)]
        alone = of_whole(monitor.evaluate(inside, reference=reference, **keys))
        assert {key: over.points[key][at].measurement for key in alone} == alone


def test_a_part_of_the_frame_is_a_reference_as_a_frame_of_its_own_is() -> None:
    frame, cut = months(), CUT
    before = frame["at"] < pd.Timestamp(cut, tz="UTC")
    apart = lines(frame[~before], reference=frame[before])

    times = pd.Timestamp(cut), pd.Timestamp(cut, tz="UTC"), pd.Timestamp(cut).date(), np.datetime64(cut)
    for reference in (cut, *times, 0.2501, np.float64(0.255)):
        assert lines(frame, reference=reference).points == apart.points


def test_a_model_that_ranks_nothing_any_more_is_worse_from_then_on() -> None:
    rows = lines(months(worse_from=0.75), reference=CUT).frame

    areas = rows.query("measure == 'roc_auc' and period == 'predictions'")
    assert areas["state"].tolist() == 6 * ["within"] + 3 * ["worse"]
    moved = rows.query("measure == 'moved_features' and period == 'predictions'")
    assert moved["value"].tolist() == 6 * [0.0] + 3 * [1.0]
    assert set(moved["n"]) == {2}


def test_a_calm_model_is_nowhere_worse() -> None:
    over = lines(months(), reference=CUT)

    assert "worse" not in set(over.frame.query("measure in ('roc_auc', 'stability_index')")["state"])
    assert over.sentences == (
        "ROC AUC was clearly below the limit of 0.711 in none of 9 weeks.",
        "The reference has 0.749.",
        "No feature moved by a PSI of 0.1.",
    )


@pytest.mark.parametrize("kept", [0.0, 0.1, 0.4, 0.7])
def test_labels_that_are_still_coming_are_never_a_fall(kept: float) -> None:
    """The labels that come first are the bad ones: what they say is no fall of the model."""
    frame = months()
    late = frame["at"] >= pd.Timestamp("2024-03-11", tz="UTC")
    lost = late & ((frame["bad"] == 0) | (np.random.default_rng(1).uniform(size=len(frame)) > kept))
    over = lines(frame.assign(bad=frame["bad"].mask(lost)), reference=CUT)

    judged = over.frame.query("limit.notna() and period == 'predictions'")
    states = judged.query("measure == 'roc_auc'")["state"].tolist()
    assert states == 7 * ["within"] + 2 * ["unknown"]
    newest = judged[judged["start"] >= pd.Timestamp("2024-03-11", tz="UTC")]
    of_labels = newest[
        ~newest["measure"].isin(["stability_index", *ESTIMATED]) | (newest["subject"] == "label")
    ]
    assert {"accuracy", "stability_index"} <= set(of_labels["measure"])
    assert set(of_labels["state"]) == {"unknown"}
    assert set(of_labels["reason"]) == {"labels_still_coming"}
    assert newest.query("measure == 'estimated_roc_auc'")["state"].tolist() == 2 * ["within"]
    assert "The labels of the last 2 weeks are still coming." in over.sentences
    assert "zone hatched" in over.plot("roc_auc").text


def test_labels_that_lack_in_the_middle_are_not_judged_either() -> None:
    frame = months()
    gap = (frame["at"] >= pd.Timestamp("2024-02-12", tz="UTC")) & (
        frame["at"] < pd.Timestamp("2024-02-19", tz="UTC")
    )
    lost = gap & (np.arange(len(frame)) % 4 > 0)
    states = lines(frame.assign(bad=frame["bad"].mask(lost)), reference=CUT).frame.query(
        "measure == 'roc_auc' and period == 'predictions'"
    )

    assert states["state"].tolist() == 3 * ["within"] + ["unknown"] + 5 * ["within"]
    assert states["reason"].tolist()[3] == "few_labels"


def test_without_labels_the_estimate_leads() -> None:
    frame = months()
    reference = frame["at"] < pd.Timestamp("2024-01-22", tz="UTC")
    over = lines(frame[~reference].drop(columns="bad"), reference=frame[reference])

    assert over.main == "estimated_roc_auc"
    assert over.figures[0].title == "Estimated ROC AUC by week"
    assert over.sentences[0] == "Estimated ROC AUC was clearly below the limit of 0.711 in none of 9 weeks."


def sold(worse_from: float = 1.0) -> pd.DataFrame:
    """Forecasts with what came of them; errors after a share of the rows are twice as large."""
    frame = months()
    rng, n = np.random.default_rng(7), len(frame)
    forecast = 100 + 20 * frame["age"]
    wide = np.where(np.arange(n) < worse_from * n, 1.0, 2.0)
    return pd.DataFrame(
        {"at": frame["at"], "calm": frame["calm"], "forecast": forecast}
        | {"sold": forecast + 10 * wide * rng.normal(size=n)}
    )


def numbers(frame: pd.DataFrame, **changed: Any) -> OverTime:
    keys: dict[str, Any] = {"task": "regression", "prediction": "forecast", "label": "sold"}
    return monitor.evaluate(frame, time="at", every="7d", resamples=20, **(keys | changed)).over_time()


def test_errors_are_worse_above_their_limit() -> None:
    over = numbers(sold(worse_from=0.75), reference=CUT)

    errors = over.frame.query("measure == 'root_mean_squared_error' and period == 'predictions'")
    assert errors["state"].tolist() == 6 * ["within"] + 3 * ["worse"]
    assert (errors["limit"] == errors["reference"] + 0.05 * errors["reference"]).all()
    assert [figure.title for figure in over.figures[:2]] == ["RMSE by week", "MAE by week"]
    assert "estimated before labels" in over.plot("mae").text


def test_the_error_is_estimated_where_no_label_has_come() -> None:
    frame = sold()
    before = frame["at"] < pd.Timestamp(CUT, tz="UTC")
    over = numbers(frame[~before].drop(columns="sold"), reference=frame[before])

    assert over.main == "estimated_mean_absolute_error"
    assert over.figures[0].title == "Estimated MAE by week"


def test_without_a_reference_there_are_lines_without_limits() -> None:
    over = lines(months(), numeric=None, categorical=None)

    areas = over.frame.query("measure == 'roc_auc'")
    assert areas["value"].notna().all()
    assert areas["state"].isna().all()
    assert areas["limit"].isna().all()
    assert over.plot().text.count("<figure") == 2, "performance, records"
    assert over.sentences == ("Nothing is checked without a reference: give reference.",)


def test_a_reference_without_labels_gives_no_limit() -> None:
    frame = months()
    before = frame["at"] < pd.Timestamp(CUT, tz="UTC")
    over = lines(frame[~before], reference=frame[before].drop(columns="bad"))

    assert over.sentences[0] == "ROC AUC is not checked: the reference has no labels."
    assert over.frame.query("measure == 'roc_auc'")["state"].isna().all()
    assert set(over.frame.query("measure == 'stability_index'")["state"].dropna()) == {"within", "unknown"}


def test_a_reference_without_times_is_one_point() -> None:
    frame = months()
    before = frame["at"] < pd.Timestamp("2024-01-22", tz="UTC")
    over = lines(frame[~before], reference=frame[before].drop(columns="at"))
    whole = monitor.evaluate(
        frame[before], reference=frame[before], **(KEYS | {"numeric": ["age", "calm"], "categorical": []})
    )

    first = over.frame.query("measure == 'roc_auc'").iloc[0]
    assert (first["period"], pd.isna(first["start"])) == ("reference", True)
    assert first["value"] == first["reference"] == whole.value("roc_auc")


ODD: dict[str, Callable[[pd.DataFrame], dict[str, Any]]] = {
    "texts": lambda frame: {"at": frame["at"].dt.strftime("%Y-%m-%d %H:%M:%S")},
    "dates": lambda frame: {"at": frame["at"].dt.date},
    "nanoseconds": lambda frame: {"at": frame["at"].astype("datetime64[ns, UTC]")},
    "periods": lambda frame: {"at": frame["at"].dt.tz_localize(None).dt.to_period("D")},
}


@pytest.mark.parametrize("kind", ODD)
def test_times_of_any_kind_are_times(kind: str) -> None:
    frame = months(n=3_000)
    over = lines(frame.assign(**ODD[kind](frame)), reference=CUT)

    assert over.frame.query("measure == 'records'")["value"].tolist() == (
        lines(frame, reference=CUT).frame.query("measure == 'records'")["value"].tolist()
    )


def test_a_reference_whose_times_are_all_missing_is_one_point() -> None:
    frame = months(n=3_000)
    before = frame["at"] < pd.Timestamp(CUT, tz="UTC")
    never = np.full(before.sum(), "NaT", "datetime64[us]")
    over = lines(frame[~before], reference=frame[before].assign(at=never))

    assert [window.span is None for window in over.windows] == [True, *9 * [False]]


def test_without_a_label_of_the_model_what_comes_out_is_drawn() -> None:
    frame = months().drop(columns="bad")
    over = lines(frame, reference=CUT, label=None)

    assert over.figures[0].title == "PSI of score by week"
    assert over.sentences == ("No feature moved by a PSI of 0.1.",)


def test_windows_without_rows_break_the_line() -> None:
    frame = months()
    gap = (frame["at"] >= pd.Timestamp("2024-02-12", tz="UTC")) & (
        frame["at"] < pd.Timestamp("2024-02-26", tz="UTC")
    )
    areas = lines(frame[~gap], reference=CUT).frame.query("measure == 'roc_auc'")

    assert areas["value"].isna().sum() == 2
    assert len(areas) == 12


def test_charts_are_had_by_measure_and_subject() -> None:
    over = lines(months(worse_from=0.75), reference=CUT)

    page = over.plot("psi", "feature:age").text
    assert page.count('<svg class="plot"') == 1
    assert "PSI of age by week" in page
    assert "<script" not in page
    assert over.plot("auc") == over.plot("roc_auc")
    assert over._repr_html_().startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    assert over.list_most_moved() == ["feature:age"]


def test_a_report_leads_with_the_lines() -> None:
    evaluated = monitor.evaluate(
        months(), reference=CUT, time="at", every="7d", **(KEYS | {"numeric": ["age"], "categorical": []})
    )
    page = evaluated.report().text

    assert page.index("<h2>Over time</h2>") < page.index('<dl class="facts">')
    assert page.count("<figure") == evaluated.plot().text.count("<figure") + len(
        evaluated.over_time().figures
    )
    assert str(evaluated).startswith("Over time    ROC AUC was clearly below")


def test_markup_in_names_stays_text() -> None:
    name = "<script>alert(1)</script>"
    frame = months(worse_from=0.5).rename(columns={"age": name})

    page = lines(frame, reference=CUT, numeric=[name]).plot().text
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


MOMENTS = st.integers(946_684_800_000_000, 1_900_000_000_000_000)


@given(
    MOMENTS,
    st.integers(0, 400 * DAY),
    st.sampled_from(["1h", "6h", "1d", "7d", "30d", *LONGEST]),
    st.sampled_from(["UTC", "Europe/Vienna", "America/New_York", "Asia/Kolkata"]),
)
def test_windows_follow_one_another_and_hold_all(first: int, span: int, every: str, zone: str) -> None:
    window = parse_every(every, zone)
    bounds = window_bounds(window, first, first + span)

    widths = np.diff(bounds)
    assert bounds[0] <= first < bounds[1]
    assert bounds[-2] <= first + span < bounds[-1]
    assert (widths > 0).all()
    assert (abs(widths - window.length) <= (HOUR if every not in LONGEST else 4 * DAY)).all()
    before = window_bounds(window, first, first + span, int(bounds[-1]))
    assert before[0] <= first
    assert before[-1] == bounds[-1]


def objects(times: pd.Series) -> pd.Series:
    """Times with a zone and without one in one column."""
    return pd.Series(
        [
            at.to_pydatetime() if row % 2 else at.tz_localize(None).to_pydatetime()
            for row, at in enumerate(times)
        ],
        dtype=object,
    )


@pytest.mark.texts
def test_bad_times_are_one_clear_error() -> None:
    frame = months(days=20, n=600)
    reference = frame.head(200)
    over = lines(frame, reference=0.5)
    frame["at"] = frame["at"].dt.floor("s")
    naive = frame.assign(at=frame["at"].dt.tz_localize(None))
    calls: dict[str, Callable[[], object]] = {
        "no such column": lambda: lines(frame, time="tme", reference=reference),
        "no times": lambda: lines(frame.assign(at="yesterday")),
        "flags": lambda: lines(frame.assign(at=True)),
        "numbers": lambda: lines(frame.assign(at=np.arange(600))),
        "with a zone and without one": lambda: lines(frame.assign(at=objects(frame["at"]))),
        "a zone in one frame alone": lambda: lines(frame, reference=naive.head(200)),
        "two columns of times": lambda: lines(frame, event_time="then"),
        "windows without times": lambda: lines(frame, time=None),
        "a reference by time without times": lambda: lines(frame, time=None, every=None, reference=0.2),
        "one window": lambda: lines(frame, every="400d"),
        "too many windows": lambda: lines(months(days=400, n=600), every="1m"),
        "a unit that is none": lambda: lines(frame, every="fortnight"),
        "no whole days": lambda: lines(frame, every="36h"),
        "a share that is none": lambda: lines(frame, reference=1.5),
        "a time that is none": lambda: lines(frame, reference="spring"),
        "nothing before": lambda: lines(frame, reference="2020-01-01"),
        "nothing after": lambda: lines(frame, reference="2030-01-01"),
        "a part of the frame, labels apart": lambda: monitor.evaluate(
            frame, frame, reference=0.2, id="at", time="at", **KEYS
        ),
        "no task": lambda: monitor.evaluate(frame, prediction="score", label="bad"),
        "scores as predictions": lambda: monitor.evaluate(
            frame, prediction="score", label="bad", task="binary"
        ),
        "lines that were not asked for": lambda: lines(frame, every=None),
        "no such measure": lambda: over.plot("acuracy"),
        "a measure of another task": lambda: over.plot("r2"),
        "a subject without its kind": lambda: over.plot("psi", "age"),
    }
    cases = []
    for name, call in calls.items():
        with pytest.raises(MonitorError) as raised:
            call()
        assert len(str(raised.value).splitlines()) == 1
        cases.append((name, f"{type(raised.value).__name__}: {raised.value}"))

    compare_cases("over_time_errors", cases)


def test_windows_begin_at_midnight_of_the_zone() -> None:
    frame = months(days=110)

    there = lines(frame, timezone="Europe/Vienna", reference=CUT).frame.query("measure == 'records'")
    local = there["start"].dt.tz_convert("Europe/Vienna")
    assert set(local.dt.hour) == {0}
    assert len({start.utcoffset() for start in local}) == 2, "summer time begins in between"
    assert there["value"].sum() == len(frame)


def test_arrow_and_pandas_have_the_same_columns() -> None:
    over = lines(months(), reference=CUT)

    assert isinstance(over.to_arrow(), pa.Table)
    assert over.to_arrow().column_names == over.to_frame().columns.tolist()
    assert over.frame.equals(over.to_frame())
