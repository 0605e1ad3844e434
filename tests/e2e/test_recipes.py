"""Every recipe of the manual, as it stands there, on a log that fits it: the number that it promises."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pandas as pd
import pytest
from recipe_logs import (
    PAGE,
    START,
    Recipe,
    blocks,
    inputs,
    moments,
    outcomes,
    requests,
    section,
    training,
    truths,
    without_comments,
)
from scipy.stats import binomtest, chi2, ks_2samp
from sklearn.metrics import roc_auc_score
from sqlalchemy.dialects.postgresql import JSONB

from monitor.core.clock import DAY, HOUR, SECOND, from_iso, ticks_between
from monitor.core.measurement import Measurement, Reason
from monitor.measures.measurement_row import LabelTruth

WEEK = START + 7 * DAY
Made: TypeAlias = Callable[[str], Recipe]


@pytest.mark.postgres
def test_a_feature_out_of_json_has_its_shift_measured(postgres_url: str, tmp_path: Path) -> None:
    recipe = Recipe("Features in a JSON column", tmp_path, postgres_url)
    log, trained = requests(8, 200), training("churned")
    log["age"] += 15.0

    def nested(rows: pd.DataFrame) -> pd.DataFrame:
        documents = [
            {"age": "n/a" if at == 5 else age, "account": {"plan": plan}}
            for at, (age, plan) in enumerate(zip(rows["age"], rows["plan"], strict=True))
        ]
        return rows.drop(columns=["age", "plan"]).assign(input=pd.Series(documents, dtype=object))

    recipe.save("predictions", nested(log), input=JSONB)
    recipe.save("training", nested(trained), input=JSONB)
    recipe.configure()

    assert recipe.check()
    rows = recipe.cycle(START + 8 * DAY + HOUR)

    week = log["created_at"] >= moments([START + DAY])[0]
    exact = ks_2samp(trained["age"].drop(5), log["age"][week]).statistic
    found = rows.of("ks_distance", "feature:age")
    assert found.value is not None
    assert exact - (found.resolution or 0.0) <= found.value <= exact
    assert rows.shifted(window="7d") == {"feature:age"}
    assert rows.value("records") == 1_400
    logged_again = "created_at = created_at + interval '1 second'"
    recipe.run(
        f"UPDATE predictions SET input = '{{\"age\": \"?\"}}', {logged_again} WHERE request_id = 'r1599'"
    )
    assert recipe.cycle(START + 9 * DAY + HOUR).value("invalid_rate", "feature:age") == 1 / 1_200


def test_features_of_a_second_table_count_once_they_are_written(recipe: Made) -> None:
    made = recipe("Features in a second table")
    log = requests(7, 100)
    delays = np.where(np.arange(700) < 350, -1, 600)  # minutes; some are known before their request
    features = log[["request_id", "age", "plan"]]
    features = features.assign(written_at=log["created_at"] + pd.to_timedelta(delays, unit="min"))
    known = features["written_at"] <= moments([WEEK + HOUR])[0]
    made.save("predictions", log[["request_id", "created_at", "score"]])
    made.save("features", features[known])
    made.save("training", training("churned"))
    made.configure()

    made.check()
    before = made.cycle(WEEK + HOUR)
    made.save("features", features[~known])
    after = made.cycle(*ticks_between(WEEK + HOUR, WEEK + 11 * HOUR, HOUR))

    assert before.value("records") == 700
    assert before.value("missing_rate", "feature:age") == (~known).sum() / 700 > 0.04
    assert after.value("missing_rate", "feature:age") == 0.0


def test_models_that_share_both_tables_have_truths_of_their_own(recipe: Made) -> None:
    made = recipe("One log and one label table for several models")
    accuracy = {}
    for at, (model, kind) in enumerate((("churn", "churned"), ("upsell", "bought"))):
        log = requests(7, 60, seed=10 + at)
        truth = truths(log, seed=20 + at)
        labels = outcomes(log, "value").assign(value=truth, kind=kind)
        made.save("predictions", log.assign(model=model))
        made.save("outcomes", labels.rename(columns={"request_id": "of_request"}))
        inside = log["created_at"] >= moments([START + 6 * HOUR])[0]
        accuracy[model] = ((log["score"] >= 0.5) == truth)[inside].mean()
    made.configure()

    made.check()
    rows = made.cycle(WEEK + 7 * HOUR)

    found = {name: rows.value("accuracy", truth=LabelTruth.PROVISIONAL, model=name) for name in accuracy}
    counted = {
        name: rows.value("labelled_records", truth=LabelTruth.PROVISIONAL, model=name) for name in accuracy
    }
    assert accuracy["churn"] != accuracy["upsell"]
    assert counted == {"churn": 405, "upsell": 405}
    assert found == accuracy


@pytest.mark.long
def test_of_labels_that_take_90_days_the_settled_ones_are_right_and_the_first_ones_are_not(
    recipe: Made,
) -> None:
    made = recipe("Labels that take 90 days")
    log = requests(210, 40)
    loans = outcomes(log, "defaulted")
    repaid = loans["defaulted"] == 0
    days = np.where(repaid, 90.0, np.random.default_rng(5).uniform(0, 90, len(log)).round(2))
    made.save("predictions", log)
    made.save("outcomes", loans.assign(reported_at=log["created_at"] + pd.to_timedelta(days, unit="D")))
    made.save("training", training("defaulted"))
    made.configure()

    made.check()
    rows = made.cycle(START + 208 * DAY + HOUR, START + 210 * DAY + HOUR)

    settled = rows.row("base_rate", window="30d", truth=LabelTruth.SETTLED)
    newest = rows.row("base_rate", window="30d", truth=LabelTruth.PROVISIONAL)
    inside = (log["created_at"] >= moments([settled.window_end - 30 * DAY])[0]) & (
        log["created_at"] < moments([settled.window_end])[0]
    )
    assert settled.measurement.value == loans["defaulted"][inside].mean()
    assert settled.coverage == 1.0
    assert 89 * DAY <= START + 210 * DAY - settled.window_end <= 91 * DAY
    assert (newest.window_end, newest.measurement.value) == (START + 210 * DAY, 1.0)
    assert (newest.coverage or 1.0) < 0.2
    assert rows.value("stability_index", "score", window="30d") < 0.1


def table_of(title: str) -> dict[str, list[float | None]]:
    """Numbers of the recipe's table by window."""
    rows = re.findall(r"^\| `(\w+)` \|(.*)\|$", section(title), re.MULTILINE)
    return {
        window: [
            float(cell.replace(",", "")) if re.match(r"[ \d,.]+$", cell) else None
            for cell in cells.split("|")
        ]
        for window, cells in rows
    }


@pytest.mark.long
def test_50_predictions_a_day_are_worth_what_the_table_says(recipe: Made) -> None:
    title = "50 predictions a day"
    made = recipe(title)
    log = requests(120, 50)
    made.save("predictions", log)
    made.save("outcomes", outcomes(log, "fraud"))
    made.save("training", training("fraud"))
    made.configure()
    made.check()
    # the windows of the table beside those that are advised
    made.configure({'windows = ["28d", "91d"]': 'windows = ["28d", "91d", "1d", "7d"]'})

    made.check()
    rows = made.cycle(START + 121 * DAY)

    for window, (n, accuracy, auc, index) in table_of(title).items():
        assert n == 50 * int(window.removesuffix("d"))
        measured = [
            rows.of(name, window=window, truth=LabelTruth.SETTLED) for name in ("accuracy", "roc_auc")
        ]
        assert [half_width(one) for one in measured] == pytest.approx([accuracy, auc], abs=0.006)
        right = round((measured[0].value or 0.0) * n)
        wilson = binomtest(right, int(n)).proportion_ci(method="wilson")
        assert accuracy == round((wilson.high - wilson.low) / 2, 2)
        if index is None:
            assert rows.of("stability_index", "score", window=window).reason is Reason.TOO_FEW
        else:
            assert index == round((1 / n + 1 / 2_000) * chi2.ppf(0.95, 9), 2)
            critical = rows.value("stability_index_critical", "score", window=window)
            assert critical == pytest.approx(index, abs=0.006)


def half_width(measurement: Measurement) -> float:
    """Half of an interval's width."""
    assert measurement.interval is not None, measurement.reason
    return (measurement.interval.upper - measurement.interval.lower) / 2


@pytest.mark.parametrize(("ready", "hours", "records"), [('ready_after = "6h"', 6, 96), ("", 1, 0)])
def test_a_day_that_is_loaded_at_night_is_whole_when_it_is_first_kept(
    recipe: Made, ready: str, hours: int, records: int
) -> None:
    made = recipe("A log that is loaded at night")
    log = requests(9, 96)
    midnight = log["created_at"].dt.tz_convert("Europe/Vienna").dt.normalize() + pd.Timedelta("1D")
    made.save("predictions", log.assign(loaded_at=(midnight + pd.Timedelta("4h")).dt.tz_convert("UTC")))
    made.configure({'ready_after = "6h"': ready})

    if ready:  # else it warns
        made.check()
    rows = made.cycle(*ticks_between(START + 4 * DAY, START + 6 * DAY, HOUR))

    day = from_iso("2024-01-05T23:00:00Z")  # midnight in Vienna
    (first, *_) = [
        (stored.as_of - day, stored.row.measurement.value)
        for stored in rows.kept
        if (stored.row.window, stored.row.window_end, stored.row.measure) == ("day", day, "records")
        and stored.row.segment is None
    ]
    assert first == (hours * HOUR, records)


def test_without_labels_there_are_shift_volumes_and_data_quality_and_no_performance(recipe: Made) -> None:
    made = recipe("No labels")
    log = requests(15, 100)
    log.loc[log["created_at"] >= moments([START + 14 * DAY])[0], "score"] **= 2
    made.save("predictions", log)
    made.save("training", training("churned"))
    made.configure()

    made.check()
    rows = made.cycle(START + 15 * DAY + HOUR)

    assert {stored.row.truth for stored in rows.current} == {LabelTruth.NONE}
    assert rows.shifted(window="1d") == {"score", "prediction"}
    assert rows.shifted(window="7d") == set()  # a day in seven
    assert rows.value("volume_ratio", window="1d") == 1.0


def test_some_rows_labelled_by_hand_give_a_settled_value_with_a_wide_interval(recipe: Made) -> None:
    made = recipe("No labels")
    log = requests(70, 100)
    every = outcomes(log, "churned", "48h")
    some = np.random.default_rng(8).random(len(log)) < 0.1
    made.save("predictions", log)
    made.save("outcomes", every[some])
    made.save("training", training("churned"))
    labels = '{ table = "outcomes", id = "request_id", label = "churned", reported_at = "reported_at" }'
    made.configure({'task = "binary"': f'task = "binary"\nlabels = {labels}'})

    made.check()
    rows = made.cycle(START + 69 * DAY + HOUR, START + 70 * DAY + HOUR)

    found = rows.row("accuracy", window="30d", truth=LabelTruth.SETTLED)
    inside = log["created_at"].between(*moments([found.window_end - 30 * DAY, found.window_end - 1]))
    exact = ((log["score"] >= 0.5) == every["churned"])[inside].mean()
    assert found.coverage == some[inside].mean()
    assert found.measurement.interval is not None
    assert found.measurement.interval.lower < exact < found.measurement.interval.upper
    assert half_width(found.measurement) > 0.04


def test_a_shadow_is_measured_on_the_same_requests_and_is_not_in_the_whole(recipe: Made) -> None:
    made = recipe("A new version in the shadow")
    live = requests(7, 100).assign(model_version="v1", stage="live")
    noise = np.random.default_rng(9).normal(0, 0.5, len(live))
    shadow = live.assign(
        model_version="v2", stage="shadow", score=(live["score"] + noise).clip(0, 1).round(4)
    )
    labels = outcomes(live, "churned", "5m")
    made.save("predictions", pd.concat([live, shadow]))
    made.save("outcomes", labels)
    made.save("training", training("churned"))
    made.configure()

    made.check()
    rows = made.cycle(WEEK + HOUR)

    for version, log in (("v1", live), ("v2", shadow)):
        found = rows.of("roc_auc", truth=LabelTruth.PROVISIONAL, version=version)
        exact = roc_auc_score(labels["churned"], log["score"])
        assert found.n == 700
        assert found.value == pytest.approx(exact, abs=found.resolution or 1e-9)
    whole = rows.of("roc_auc", truth=LabelTruth.PROVISIONAL)
    assert replace(whole, detail=None) == rows.of("roc_auc", truth=LabelTruth.PROVISIONAL, version="v1")
    assert rows.value("records") == 700
    assert rows.shifted() == set()
    (repeats,) = {
        stored.row.measurement.value
        for stored in rows.current
        if stored.row.measure == "duplicate_records"
        and stored.row.window == "7d"
        and stored.row.version is None
    }
    assert repeats == 0.0


FIRST = "version_first_seen_timestamp"
VERSIONS = '[models.reference.versions]\nv2 = { table = "training_v2" }\n'


@pytest.mark.parametrize(
    ("without", "moved"),
    [
        pytest.param({}, set(), id="with its reference"),
        pytest.param({VERSIONS: ""}, {"feature:age", "feature:plan", "score", "prediction"}, id="without"),
    ],
)
def test_a_retrained_version_with_its_reference_is_no_shift(
    recipe: Made, without: dict[str, str], moved: set[str]
) -> None:
    made = recipe("A retrained version")
    log = requests(12, 200).assign(model_version="v1")
    new = log["created_at"] >= moments([START + 6 * DAY])[0]
    log.loc[new] = other_customers(log[new]).assign(model_version="v2")
    made.save("predictions", log)
    made.save("training", training("churned"))
    made.save("training_v2", other_customers(training("churned", 1_500, seed=30)))
    made.configure({'task = "binary"': 'task = "binary"\nlevel = 0.999'} | without)

    made.check()
    before, mixed, after = (made.cycle(START + day * DAY + HOUR) for day in (6, 9, 12))

    assert before.shifted(window="30d") == set()
    assert [rows.shifted(window="7d") for rows in (mixed, after)] == [moved, moved]
    assert mixed.value("records", version="v2") == 600
    (seen,) = {
        stored.row.measurement.value
        for stored in after.current
        if stored.row.measure == FIRST and stored.row.version == "v2"
    }
    assert seen == (START + 6 * DAY + HOUR) / SECOND


def other_customers(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with other ages, plans and scores."""
    return rows.assign(
        age=rows["age"] + 12, plan=rows["plan"].replace("team", "pro"), score=rows["score"] ** 2
    )


@pytest.mark.long
def test_300_features_are_watched_within_the_series_that_there_may_be(recipe: Made) -> None:
    made = recipe("300 features")
    made.save("predictions", wide(requests(8, 150), seed=40).assign(loaded_by="job"))
    made.save("training", wide(inputs(1_500, 3), seed=41).assign(loaded_by="job"))
    made.configure()

    said = made.check("--explain")
    rows = made.cycle(START + 8 * DAY + HOUR)

    series = {int(told.replace(",", "")) for told in re.findall(r"about ([\d,]+) series for", said)}
    assert len(series) == 1
    assert max(series) <= 2_000
    names = {f"feature:f{at:03}" for at in range(300)}
    assert names | {"feature:age", "feature:plan", "score", "prediction"} == {
        stored.row.subject for stored in rows.current if stored.row.measure == "stability_index"
    }
    beyond_chance = rows.shifted()
    assert "feature:f007" in beyond_chance
    assert 5 <= len(beyond_chance & names) <= 27  # binomial(300, 0.05): all but one in a thousand
    large = {name for name in names if rows.value("stability_index", name) > 0.25}
    assert large == {"feature:f007"}


def wide(rows: pd.DataFrame, *, seed: int) -> pd.DataFrame:
    """Rows with 300 features more, one of which moves with the seed."""
    drawn = np.random.default_rng(seed).normal(size=(len(rows), 300)).round(3)
    drawn[:, 7] += seed - 40
    names = [f"f{at:03}" for at in range(300)]
    return pd.concat([rows, pd.DataFrame(drawn, columns=names, index=rows.index)], axis=1)


TITLES = [title for title in re.findall(r"^##+ (.+)$", without_comments(PAGE), re.MULTILINE) if blocks(title)]


def test_every_recipe_of_the_page_is_tried() -> None:
    tests = "".join(
        path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_recipes*.py")
    )
    tried = set(re.findall(r'(?:recipe|Recipe)\("(\w[^"]+)"|title = "(\w[^"]+)"', tests))

    assert {first or second for first, second in tried} == set(TITLES)


@pytest.mark.parametrize("title", TITLES)
def test_every_configuration_of_the_page_is_valid_as_it_stands(recipe: Made, title: str) -> None:
    made = recipe(title)
    made.configure()

    assert made.check("--offline")
