"""`monitor.evaluate` says of a frame what the service says of the same rows in a database."""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import made_frames
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from kept_texts import compare_cases
from packaging.version import Version

import monitor
from monitor.app.application import open_application
from monitor.app.model_cycles import run_single_cycle
from monitor.config.config_loading import settings_of
from monitor.core.clock import DAY
from monitor.core.errors import MonitorError
from monitor.core.measurement import Measurement
from monitor.core.version import DISTRIBUTION, VERSION
from monitor.measures.measurement_row import LabelTruth, MeasurementRow
from monitor.notebook.model_keys import _INSIDE, _TABLE_OF, ModelKeys
from monitor.pipeline.kept_rows import CELLS
from monitor.specs.stored_rows import ChartedRows

Key = tuple[object, ...]
WHOLE_LOG = ChartedRows(
    window="7d", after=made_frames.END - 1, until=made_frames.END, segment=None, version=None, details=True
)
OF_THE_LOG_ALONE = {"volume_ratio"}  # what weeks before the frame say


def configuration(task: str, url: str, keys: dict[str, Any]) -> str:
    """The configuration that says the same as a call."""
    tables: dict[str, dict[str, Any]] = {"": {}, "predictions": {"table": "predictions"}}
    for key, value in keys.items():
        if isinstance(value, dict) and key not in ("probabilities", "profit"):
            tables[key] = value
        else:
            tables.setdefault(_TABLE_OF.get(key, ""), {})[_INSIDE.get(key, key)] = value
    tables["labels"] |= {"table": "labels"}
    tables["reference"] = {"file": "reference.parquet"}
    lines = [
        "[store]",
        'url = "sqlite:///monitor.db"',
        "thin = false",
        "[sources.log]",
        f'url = "{url}"',
        "[[models]]",
    ]
    lines += [
        'name = "made"',
        'source = "log"',
        f'task = "{task}"',
        'windows = [{ length = "7d", step = "1d" }]',
    ]
    lines += ['settle_after = "2h"']
    for name, table in tables.items():
        lines += [f"[models.{name}]"] if name else []
        lines += [f"{key} = {toml(value)}" for key, value in table.items()]
    return "\n".join(lines)


def toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f'"{key}" = {toml(item)}' for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def served(task: str, directory: Path, monkeypatch: pytest.MonkeyPatch) -> list[MeasurementRow]:
    """Rows of the window that holds everything, once it has settled."""
    path = directory / "config.toml"
    path.write_text(
        configuration(task, made_frames.write(directory), made_frames.keys(task)), encoding="utf-8"
    )
    monkeypatch.chdir(directory)
    with open_application(settings_of(path, {}), directory) as app:
        report = run_single_cycle(app, "made", made_frames.END + DAY)
        assert report.error is None
        return [
            stored.row
            for stored in app.store.charts.read_charted_rows("made", WHOLE_LOG)
            if stored.row.truth is not LabelTruth.NOWCAST
        ]


# What is kept of a settled window is more than what is shown at once.
WHOLE = ("roc_auc", "ks_separation", "average_precision", "best_profit", CELLS)


def by_key(rows: Iterable[MeasurementRow]) -> dict[Key, Measurement]:
    return {
        (row.measure, row.subject, row.version, row.segment, row.against): (
            replace(row.measurement, detail=None) if row.measure in WHOLE else row.measurement
        )
        for row in rows
        if row.truth in (LabelTruth.NONE, LabelTruth.SETTLED)
    }


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_the_numbers_are_those_of_the_service_on_the_same_rows(
    task: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = by_key(served(task, tmp_path, monkeypatch))
    frame = made_frames.predictions()

    evaluated = monitor.evaluate(
        frame,
        made_frames.labels(frame),
        reference=made_frames.reference(),
        task=task,
        **made_frames.keys(task),
    )

    found = by_key(evaluated.rows)
    of_the_log = {key for key in expected if key[0] in OF_THE_LOG_ALONE}
    assert found == {key: value for key, value in expected.items() if key not in of_the_log}
    assert (len(found) > 70, of_the_log != set()) == (True, True)


@pytest.fixture(scope="module")
def evaluated() -> monitor.Evaluation:
    """Scores with labels in their frame, against a reference."""
    return evaluate(made_frames.reference())


def evaluate(frame: Any, labels: Any = None, **changed: Any) -> monitor.Evaluation:
    """Evaluate scores by the keys that they need."""
    keys: dict[str, Any] = {
        "score": "score",
        "threshold": 0.4,
        "label": "bad",
        "numeric": ["age"],
        "categorical": ["sector"],
        "resamples": 20,
    }
    given = {"reference": made_frames.reference()} | keys | changed
    return monitor.evaluate(frame, labels, task="binary", **given)


STRING_VIEWS = pytest.mark.skipif(
    Version(pa.__version__) < Version("25"),
    reason="before, Arrow's own stream of string views ends the process",
)


class Streamed:
    """A frame of a library that we do not know, with the kinds of strings and categories that Polars has."""

    def __init__(self, frame: pd.DataFrame) -> None:
        table = pa.Table.from_pandas(frame)
        sector = table["sector"].cast(pa.string()).combine_chunks().dictionary_encode()
        viewed = sector.dictionary.cast(pa.string_view())
        indices = sector.indices.cast(pa.uint32())
        at = table.column_names.index("sector")
        table = table.set_column(at, "sector", pa.DictionaryArray.from_arrays(indices, viewed))
        self._table = table.set_column(0, "id", table["id"].cast(pa.string()).cast(pa.string_view()))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "form",
    [
        pa.Table.from_pandas,
        pytest.param(Streamed, marks=STRING_VIEWS),
        lambda frame: frame.assign(sector=frame["sector"].astype("category")),
        lambda frame: frame.set_index("age"),
        lambda frame: frame.sample(frac=1.0, random_state=1),
    ],
    ids=["arrow", "streamed", "categories", "indexed", "shuffled"],
)
def test_a_frame_of_any_library_gives_the_same_numbers(form: Any, evaluated: monitor.Evaluation) -> None:
    assert evaluate(form(made_frames.reference())).rows == evaluated.rows


def test_labels_in_a_frame_of_their_own_give_the_numbers_of_those_beside_the_scores() -> None:
    frame = made_frames.predictions()
    apart = made_frames.labels(frame)
    beside = frame.merge(apart[["id", "bad"]], on="id", how="left")

    assert evaluate(frame, apart, id="id").rows == evaluate(beside, id="id").rows


def test_without_a_reference_performance_is_measured_and_shift_says_why_it_is_not(
    evaluated: monitor.Evaluation,
) -> None:
    alone = evaluate(made_frames.reference(), reference=None)

    shift = next(row for row in alone.rows if (row.measure, row.subject) == ("stability_index", "score"))
    assert alone.value("accuracy") == evaluated.value("accuracy")
    assert shift.measurement.reason == "no_reference"
    assert {row.against for row in alone.rows} == {""}


def test_values_are_those_of_a_count_by_hand(evaluated: monitor.Evaluation) -> None:
    known = made_frames.reference().dropna(subset=["bad"])
    right = (known["score"] >= 0.4) == (known["bad"] == 1)

    assert evaluated.value("accuracy") == right.sum() / len(right)
    assert evaluated.value("missing_rate", "feature:age") == np.mean(made_frames.reference()["age"].isna())
    assert evaluated.value("root_mean_squared_error") is None, "a measure of another task has no subjects"


def test_a_frame_of_results_has_a_row_for_each_measurement(evaluated: monitor.Evaluation) -> None:
    frame = evaluated.to_frame()

    assert len(frame) == len(evaluated.rows)
    assert frame["n"].dtype == np.int64
    assert set(frame.columns) == set(evaluated.to_arrow().column_names)
    assert (frame["value"].isna() == frame["reason"].notna()).all()


def test_the_report_is_one_file_that_asks_for_nothing(evaluated: monitor.Evaluation) -> None:
    page = evaluated.report().text

    assert page.startswith("<!doctype html>")
    assert "<script" not in page
    assert "src=" not in page
    assert "default-src &#39;none&#39;" in page
    assert f"<h1>{made_frames.N} predictions, 532 with a label; intervals of 95 %</h1>" in page
    assert f"<footer> <p>{DISTRIBUTION} {VERSION}</p></footer>" in " ".join(page.split())
    assert "Of all rows " in page
    assert re.search(
        r'title="roc_auc [^>]*><span class="k">ROC AUC</span><span class="v">0\.\d+ .*?reference 0\.\d{3}<',
        page,
    )
    assert evaluated._repr_html_().startswith('<iframe srcdoc="&lt;!doctype html&gt;')


@pytest.mark.parametrize("name", ["roc.png", "roc.svg", "roc"])
def test_a_page_is_not_saved_under_the_name_of_a_picture(
    evaluated: monitor.Evaluation, tmp_path: Path, name: str
) -> None:
    with pytest.raises(MonitorError, match=r"what is saved is a page; write a name that ends in \.html"):
        evaluated.plot("ROC").save(tmp_path / name)
    assert not (tmp_path / name).exists()


def test_names_that_are_markup_stay_text() -> None:
    name = "<script>alert(1)</script>"
    frame = made_frames.reference().rename(columns={"age": name})

    page = evaluate(frame, reference=frame, numeric=[name]).report().text

    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_the_report_opens_with_the_period_of_its_events() -> None:
    page = evaluate(made_frames.reference(), reference=None, event_time="at", id="id").report().text
    said = f"{made_frames.N} predictions, 532 with a label, 4 Mar 2024 to 10 Mar 2024 21:43"

    assert f"<h1>{said}; intervals of 95 %</h1>" in page
    assert ">reference 0." not in page


def test_a_chart_is_had_by_its_title(evaluated: monitor.Evaluation, tmp_path: Path) -> None:
    evaluated.plot("ROC").save(tmp_path / "roc.html")

    page = (tmp_path / "roc.html").read_text(encoding="utf-8")
    assert page.count("<figure") == 1
    assert "ROC curve" in page
    assert evaluated.plot().text.count("<figure") > 5
    assert evaluated.plot("roc") == evaluated.plot("ROC")
    assert str(evaluated.plot("ROC")).startswith("<a page of ")


WRONG: list[dict[str, Any]] = [
    {"scores": "score"},
    {"score": "scroe"},
    {"threshold": None},
    {"threshold": 2.0},
    {"score": None, "threshold": None},
    {"numeric": ["agee"]},
    {"reported_at": "told"},
    {"reference": 5},
    {"label": "sector"},
    {"label": "worse"},
    {"classes": ["a", "b"]},
    {"prediction": "bad"},
    {"segments": ["regoin"]},
    {"intervals": False},
    {"challenger": ["rival"]},
]


class LazyFrame:
    lazy = collect = columns = None


@pytest.mark.texts
def test_bad_input_is_one_clear_error(evaluated: monitor.Evaluation) -> None:
    frame = made_frames.predictions()
    apart = made_frames.labels(frame)
    strangers = apart.assign(id=lambda made: "x" + made["id"])
    segmented = evaluate(made_frames.reference(), segments=["region"])
    calls: dict[str, Callable[[], object]] = {
        **{str(changed): partial(evaluate, made_frames.reference(), **changed) for changed in WRONG},
        "a reference without a row": lambda: evaluate(frame, reference=pd.DataFrame({"bad": []})),
        "predictions without a row": lambda: evaluate(frame.head(0), apart, id="id"),
        "labels without their id": lambda: evaluate(frame, apart.drop(columns="id"), id="id"),
        "labels of nobody": lambda: evaluate(frame, strangers, id="id"),
        "no id": lambda: evaluate(frame, apart),
        "a frame that is not computed": lambda: evaluate(LazyFrame()),
        "a class without a probability": lambda: several(probabilities={"a": "p_a", "b": "p_b"}),
        "no such measure": lambda: evaluated.value("acuracy"),
        "no such subject": lambda: evaluated.value("missing_rate", "feature:agee"),
        "a subject without its kind": lambda: evaluated.value("missing_rate", "age"),
        "no such segment": lambda: segmented.value("accuracy", segment="north"),
        "of all records alone": lambda: segmented.value("mean", "feature:age", segment="region=north"),
        "no such chart": lambda: evaluated.plot("ROCK"),
        "a chart by its measure": lambda: evaluated.plot("roc_auc"),
    }
    cases = []
    for name, call in calls.items():
        with pytest.raises(MonitorError) as raised:
            call()
        assert len(str(raised.value).splitlines()) == 1
        cases.append((name, f"{type(raised.value).__name__}: {raised.value}"))

    compare_cases("notebook_errors", cases)


@pytest.mark.texts
def test_what_notes_say() -> None:
    frame, whole = made_frames.predictions(), made_frames.reference()
    apart = made_frames.labels(frame)
    odd = frame.copy()
    odd.loc[0, "id"] = None
    odd.loc[1, "at"] = pd.NaT
    more = pd.concat([apart, pd.DataFrame({"id": ["nobody"], "bad": [1]})])
    words = whole.assign(bad=whole["bad"].astype("string").where(whole.index > 0, "perhaps"))
    twice = pd.concat([apart, apart.head(5).assign(bad=1 - apart["bad"].head(5))])
    renamed = whole.rename(columns={"age": "Age"})
    both: dict[str, Any] = {
        "numeric": None,
        "categorical": None,
        "exclude": ["amount", "kind", "p_a", "p_b", "p_c", "rival"],
    }
    numbers: dict[str, Any] = {"task": "regression", "prediction": "kind", "label": "real_amount"}
    halves: dict[str, Any] = {
        "task": "multiclass",
        "probabilities": {"a": "p_a", "b": "p_b"},
        "label": "real_kind",
    }
    cases = {
        "rows that do not count": evaluate(odd, more, id="id", event_time="at"),
        "labels that are no value": evaluate(words),
        "scores in percent": evaluate(whole.assign(score=100 * whole["score"])),
        "scores the wrong way round": evaluate(whole.assign(score=1 - whole["score"])),
        "some scores are missing": evaluate(whole.assign(score=whole["score"].where(whole["score"] < 0.5))),
        "all scores are missing": evaluate(whole.assign(score=np.nan)),
        "texts instead of numbers": monitor.evaluate(whole, **numbers),
        "probabilities of some classes": monitor.evaluate(whole, **halves),
        "columns named as the classes": several(prediction="kind"),
        "a feature that each frame lacks": evaluate(renamed, **both),
        "a feature that the reference lacks": evaluate(whole, reference=renamed.drop(columns="Age"), **both),
        "ids with several rows": evaluate(pd.concat([frame, frame.head(3)]), twice, id="id"),
        "reports of one label": evaluate(frame, twice, id="id", event_time="at", reported_at="told"),
        "no labels yet": evaluate(whole.drop(columns="bad")),
    }

    compare_cases("notebook_notes", [(name, found.notes) for name, found in cases.items()])


@pytest.mark.parametrize(
    ("frame", "keys", "said"),
    [
        (
            made_frames.reference().assign(score=lambda made: 100 * made["score"]),
            {},
            "600 of 600 scores are no number in score_range [0, 1]: not measured.",
        ),
        (
            made_frames.reference().assign(score=lambda made: 1 - made["score"]),
            {},
            "is clearly below 0.5: are the scores, or positive and negative, the wrong way round?",
        ),
    ],
    ids=["percent", "the wrong way round"],
)
def test_what_looks_wrong_is_told(frame: pd.DataFrame, keys: dict[str, Any], said: str) -> None:
    evaluation = evaluate(frame, **keys)

    assert said in evaluation.notes[0]
    assert str(evaluation).startswith("Notes        ")
    page = evaluation.report().text
    assert 0 < page.index(said) < page.index("<dt>Performance</dt>")


def several(**changed: Any) -> monitor.Evaluation:
    """Evaluate classes and numbers of the made frames, against a reference."""
    given: dict[str, Any] = {"task": "multiclass", "label": "real_kind", "reference": made_frames.reference()}
    return monitor.evaluate(made_frames.reference(), **given | changed)


def test_of_several_classes_accuracy_is_said_once_and_calibration_is_of_right_answers() -> None:
    pets = several(probabilities={name: f"p_{name}" for name in "abc"})

    assert len(re.findall(r"Accuracy \d", " ".join(str(pets).split()))) == 1
    assert "share that was right" in pets.plot("Calibration").text


def test_what_the_threshold_makes_of_the_score_is_no_feature() -> None:
    frame = made_frames.reference().assign(answer=lambda made: made["score"] >= 0.4)
    found = evaluate(frame, reference=frame, numeric=None, categorical=None)

    said = "answer is true where score is at least 0.4: taken for the prediction, not for a feature."
    assert said in found.notes
    assert "feature:answer" not in {row.subject for row in found.rows}
    named = evaluate(frame, reference=frame, categorical=["answer"])
    assert named.value("stability_index", "feature:answer") == 0


def test_missing_scores_are_said_wherever_they_matter() -> None:
    frame = made_frames.reference()
    some = evaluate(frame.assign(score=frame["score"].where(frame["score"] < 0.5)))
    none = evaluate(frame.assign(score=np.nan))

    missing = int((frame["score"] >= 0.5).sum())
    usable = int((frame["bad"].notna() & (frame["score"] < 0.5)).sum())
    assert some.notes[0] == f"{missing} of 600 scores are missing: not measured."
    text = " ".join(str(some).split())
    assert f"532 of 600 predictions have a label, {usable} of them a usable score: ROC AUC 0." in text
    assert re.search(r"More faulty values than in the reference: score \+\S+ points missing", text)
    assert "none of them a usable score: ROC AUC is not known." in " ".join(str(none).split())
    assert "wait for" not in str(none)


def test_a_few_rows_of_many_are_not_called_worse() -> None:
    frame = made_frames.predictions(n=2_000).assign(score=lambda made: 100 * made["score"])
    frame.loc[:3, "score"] = [0.1, 0.9, 0.5, 0.6]

    text = " ".join(str(evaluate(frame, made_frames.labels(frame), id="id")).split())

    assert "of them a usable score" in text
    assert "surely worse" not in text


def test_of_an_id_with_several_labels_the_smallest_counts() -> None:
    frame = made_frames.predictions()
    apart = made_frames.labels(frame)
    twice = pd.concat([apart, apart.head(5).assign(bad=1 - apart["bad"].head(5))])

    assert evaluate(frame, twice, id="id").value("base_rate") == (
        apart["bad"].where(apart.index >= 5, 0).mean()  # the smallest value of two
    )


def test_a_segment_has_its_values_and_its_line_of_the_report() -> None:
    found = evaluate(made_frames.reference(), segments=["region"])

    north = evaluate(made_frames.reference().query("region == 'north'"), reference=None)
    assert found.value("accuracy", segment="region=north") == north.value("accuracy")
    page = found.report().text
    (line,) = re.findall(
        r'<th scope="row">region=north</th><td class="num">(\d+)</td><td>(.*?)</td><td>(.*?)<', page
    )
    labelled, value = north.value("labelled_records"), north.value("roc_auc")
    assert (float(line[0]), line[1][:5], line[2][:5]) == (
        labelled,
        f"{value:.3f}",
        "0.000",
    )  # as its reference


def test_before_labels_come_the_scores_say_what_to_expect(evaluated: monitor.Evaluation) -> None:
    early = evaluate(made_frames.reference().drop(columns="bad"))

    assert early.value("roc_auc") is None
    assert early.value("estimated_roc_auc") == evaluated.value("estimated_roc_auc")
    assert "By the scores alone ROC AUC is expected at" in " ".join(str(early).split())


def test_outside_a_notebook_an_evaluation_is_its_first_sentences(evaluated: monitor.Evaluation) -> None:
    assert "Performance  532 of 600 predictions have a label: ROC AUC 0." in repr(evaluated)
    assert max(map(len, str(evaluated).splitlines())) <= 88
    assert "save(path) writes it" in repr(evaluated.report())
    assert evaluated.plot("ROC").tall < evaluated.report().tall


def test_every_key_of_a_call_has_its_place_in_the_configuration() -> None:
    from monitor.specs.model_table import ModelTable

    for key in ModelKeys.__annotations__:
        table = _TABLE_OF.get(key, "")
        holder = ModelTable.model_json_schema()["$defs"] if table else {}
        names = (
            set(ModelTable.model_fields)
            if not table
            else {name for schema in holder.values() for name in schema.get("properties", {})}
        )
        assert _INSIDE.get(key, key) in names, key


def test_probabilities_of_the_wrong_class_are_told_by_its_name() -> None:
    rng = np.random.default_rng(4)
    shares = rng.dirichlet([1, 1, 1], 600)
    names = np.asarray(["ant", "bee", "cat"])
    frame = pd.DataFrame(shares[:, [0, 2, 1]], columns=["p_ant", "p_bee", "p_cat"])
    frame["seen"] = names[(shares.cumsum(axis=1) < rng.random((600, 1))).sum(axis=1)]
    columns = {name: f"p_{name}" for name in names.tolist()}

    evaluation = monitor.evaluate(frame, task="multiclass", label="seen", probabilities=columns)

    told = [note for note in evaluation.notes if "the columns of probabilities the wrong way round?" in note]
    assert [note.partition(" 0.")[0] for note in told] == ["roc_auc of class:bee", "roc_auc of class:cat"]


def test_the_help_names_each_key() -> None:
    told = re.findall(r"\w+", monitor.evaluate.__doc__ or "")

    assert ModelKeys.__annotations__.keys() <= set(told)
