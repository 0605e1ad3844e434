"""Models without any label, of every task: a report shows what is known, and leaves out what is not."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import made_frames
import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa
from click.testing import CliRunner
from sklearn.metrics import accuracy_score, mean_absolute_error, roc_auc_score
from test_evaluate import configuration

import monitor
from monitor.app.application import open_application
from monitor.app.model_cycles import run_single_cycle
from monitor.cli.commands import main
from monitor.config.config_loading import settings_of
from monitor.core.clock import DAY

TASKS = ("binary", "multiclass", "regression")
ESTIMATE = {
    "binary": "estimated_roc_auc",
    "multiclass": "estimated_accuracy",
    "regression": "estimated_mean_absolute_error",
}
EMPTY = ("Confusion matrix", "no_labels", "too_early", "Difference from the reference", "counted 0 records")


def answer(task: str) -> float:
    """What scikit-learn says of the labels that the report does not have, had all come."""
    frame = made_frames.predictions()
    both = frame.merge(made_frames.labels(frame), on="id")
    if task == "binary":
        return float(roc_auc_score(both["bad"], both["score"]))
    if task == "multiclass":
        return float(accuracy_score(both["real_kind"], both["kind"]))
    return float(mean_absolute_error(both["real_amount"], both["amount"]))


def plain_text(page: str) -> str:
    """Text of a page, without charts."""
    page = re.sub(r"<style>.*?</style>|<svg.*?</svg>", " ", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def headings(page: str) -> list[str]:
    return [plain_text(text).strip() for text in re.findall(r"<h[234][^>]*>(.*?)</h[234]>", page)]


def assert_nothing_is_empty(page: str) -> None:
    """Each heading has something below it, each legend a line, and no table stands of labels."""
    text = plain_text(page)
    assert not [one for one in EMPTY if one in text]
    assert_lines_are_drawn(page)


def assert_lines_are_drawn(page: str) -> None:
    assert not re.search(r"</h[23]>\s*(<div class=\"figs \w+\">\s*</div>)?\s*</section>", page)
    for figure in re.findall(r"<figure class=\"stack fig chart\">(.*?)</figure>", page, re.DOTALL):
        legend, _, chart = figure.partition("</figcaption>")
        keys = set(re.findall(r"class=\"(?:line|area|dot) (\w+)", legend))
        drawn = set(re.findall(r"class=\"(?:line|band|dot|bar) (\w+)", chart))
        assert keys, plain_text(figure)
        assert keys <= drawn, plain_text(figure)


def evaluated(task: str, **changed: Any) -> monitor.Evaluation:
    keys = {key: value for key, value in made_frames.keys(task).items() if key != "reported_at"}
    segments = {"segments": ["region"]}
    return monitor.evaluate(
        made_frames.predictions(),
        task=task,  # type: ignore[arg-type]
        **{"reference": made_frames.reference(), **keys, **segments, **changed},
    )


@pytest.mark.parametrize("task", TASKS)
def test_a_frame_without_labels_has_its_estimates_in_the_report(task: str) -> None:
    found = evaluated(task)

    frame = found.to_frame()
    (row,) = frame[(frame["measure"] == ESTIMATE[task]) & frame["segment"].isna()].to_dict("records")
    page = found.report().text
    assert row["lower"] <= answer(task) <= row["upper"]
    tile = re.search(rf'title="{ESTIMATE[task]}"><span class="k">[^<]*</span><span class="v">([\d.]+)', page)
    assert tile is not None
    assert float(tile[1]) == pytest.approx(row["value"] * (100 if task == "multiclass" else 1), rel=0.01)
    assert "no prediction has a label" in plain_text(page)
    assert "is expected at" in found.__str__()
    assert_nothing_is_empty(page)
    assert re.search(rf'<th scope="col">{ESTIMATE[task]}</th>', page)  # of segments
    assert "label" not in re.findall(r'<th scope="row">(\w+)</th>', page)


@pytest.mark.parametrize("task", TASKS)
def test_what_comes_out_is_drawn_beside_the_reference(task: str) -> None:
    page = evaluated(task).report().text

    titles = headings(page)
    assert ("Predictions" if task == "regression" else "Scores") in titles
    if task == "multiclass":
        counts = made_frames.predictions()["kind"].value_counts()
        classes = page.partition('aria-label="Classes"')[2].partition("</table>")[0]
        rows = re.findall(r'<th scope="row">(\w)</th><td class="num">(\d+)</td>', classes)
        assert rows == [(name, str(count)) for name, count in counts.items()]
        assert "Estimated precision" in plain_text(classes)


@pytest.mark.parametrize("task", TASKS)
def test_without_a_labels_name_nothing_is_said_to_be_measured(task: str) -> None:
    none = dict.fromkeys(("label", "profit", "challenger"))

    page = evaluated(task, **none).report().text

    assert "no labels are given" in plain_text(page)
    assert "configured" not in plain_text(page)
    assert_nothing_is_empty(page)
    assert "What moved" in headings(page)


def test_without_labels_anywhere_the_report_says_what_estimates_lack() -> None:
    reference = made_frames.reference().assign(bad=np.nan)

    page = plain_text(evaluated("binary", reference=reference).report().text)

    assert "estimated_roc_auc is not known: the reference has no labels to learn from" in page


def test_an_estimate_that_labels_contradict_says_so_in_the_report() -> None:
    """Predictions that are drawn by chance: the area is estimated, the accuracy is not, and why."""
    rng = np.random.default_rng(3)
    frame, reference = made_frames.predictions(), made_frames.reference()
    for one in (frame, reference):
        one["said"] = rng.choice(["a", "b", "c"], len(one))
    keys = {key: value for key, value in made_frames.keys("multiclass").items() if key != "reported_at"}

    found = monitor.evaluate(frame, reference=reference, task="multiclass", prediction="said", **keys)

    page = plain_text(found.report().text)
    assert "Estimated roc auc macro 0." in page
    assert "estimated_accuracy is not known: labels show predictions that do not follow" in page


def report_of(task: str, directory: Path, monkeypatch: pytest.MonkeyPatch, *, configured: bool) -> str:
    """The report of a service of which no label has come by the end of a week."""
    engine = sa.create_engine(made_frames.write(directory))
    with engine.begin() as connection:
        connection.execute(sa.text("DELETE FROM labels"))
    engine.dispose()
    keys = made_frames.keys(task)
    text = configuration(task, str(engine.url), keys)
    if not configured:
        for table in ("labels", "profit", "challenger"):
            text = re.sub(rf"\[models\.{table}\]\n([^\[].*\n)*", "", text)
        text = text.replace('settle_after = "2h"\n', "")
    (directory / "config.toml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(directory)
    with open_application(settings_of(directory / "config.toml", {}), directory) as app:
        for day in range(2, 9):
            assert run_single_cycle(app, "made", made_frames.START + day * DAY).error is None
    done = CliRunner().invoke(main, ["report", "--model", "made", "--output", "report.html"])
    assert done.exit_code == 0, done.output
    return (directory / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module", params=TASKS)
def served_report(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    with pytest.MonkeyPatch.context() as patch:
        directory = tmp_path_factory.mktemp(request.param)
        yield request.param, report_of(request.param, directory, patch, configured=True)


def test_a_services_report_without_labels_has_its_estimates(served_report: tuple[str, str]) -> None:
    task, page = served_report

    names, value = headings(page), ESTIMATE[task]
    assert re.search(rf'title="{value}"><span class="k">[^<]*</span><span class="v">[\d.]+', page)
    assert "accuracy unknown" not in plain_text(page)
    assert "Revisions of this result" not in plain_text(page)
    assert ("Predictions" if task == "regression" else "Scores") in names
    assert_nothing_is_empty(page)


@pytest.mark.parametrize("task", TASKS)
def test_a_services_report_without_a_label_table_has_no_table_of_performance(
    task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = report_of(task, tmp_path, monkeypatch, configured=False)

    assert "No labels are configured: performance is not measured." in plain_text(page)
    assert "have their label" not in plain_text(page)
    assert_nothing_is_empty(page)


def test_a_page_says_why_its_line_of_estimates_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Predictions that are drawn by chance, with labels: in `show`, and in the report."""
    rng = np.random.default_rng(3)
    url = made_frames.write(tmp_path)
    frame, reference = made_frames.predictions(), made_frames.reference()
    for one in (frame, reference):
        one["said"] = rng.choice(["a", "b", "c"], len(one))
    reference.to_parquet(tmp_path / "reference.parquet")
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        rows = pd.read_sql("SELECT * FROM predictions", connection).assign(said=frame["said"])
        rows.to_sql("predictions", connection, index=False, if_exists="replace")
    engine.dispose()
    keys = made_frames.keys("multiclass") | {"prediction": "said"}
    (tmp_path / "config.toml").write_text(configuration("multiclass", url, keys), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with open_application(settings_of(tmp_path / "config.toml", {}), tmp_path) as app:
        for day in range(2, 9):
            assert run_single_cycle(app, "made", made_frames.START + day * DAY).error is None

    runner = CliRunner()
    done = runner.invoke(main, ["report", "--model", "made", "--output", "report.html"])
    shown = runner.invoke(main, ["show", "--model", "made", "--measure", "estimated_accuracy"])

    assert done.exit_code == 0, done.output
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    why = "labels show predictions that do not follow from the scores"
    assert f"estimated_accuracy is not known: {why}" in plain_text(page)
    assert f"because {why}" in re.sub(r"\s+", " ", shown.output)


def test_labels_of_pandas_that_come_later_bring_performance_back() -> None:
    frame = made_frames.predictions()
    labelled = frame.merge(made_frames.labels(frame)[["id", "bad"]], on="id", how="left")
    keys = {key: value for key, value in made_frames.keys("binary").items() if key != "reported_at"}

    page = monitor.evaluate(
        pd.DataFrame(labelled), reference=made_frames.reference(), task="binary", **keys
    ).report()

    assert "Confusion matrix" in headings(page.text)
    assert "estimated_roc_auc" not in re.findall(r"<dt>(.*?)</dt>", page.text)
