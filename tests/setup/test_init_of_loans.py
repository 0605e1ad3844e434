"""A lender's log: other words than the truth's, a threshold, and labels of the approved alone."""

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from loans import Loans, day, loans

from monitor.cli import main

TABLES = ("--predictions", "loan_log", "--labels", "loan_outcomes", "--name", "loans")
Config = dict[str, Any]


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of both engines."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'loans.db'}"
    found: str = request.getfixturevalue("postgres_url")
    return found


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'loans.db'}"


def init(url: str, log: Loans, *options: str) -> tuple[Config, str]:
    """The model that is written of a log, and the text."""
    log.load(url)
    result = CliRunner().invoke(main, ["init", "--url", url, *TABLES, *options])
    assert result.exit_code == 0, result.stderr
    (model,) = tomllib.loads(result.stdout)["models"]
    return model, result.stdout


def check(directory: Path, text: str) -> Result:
    path = directory / "config.toml"
    path.write_text(f'{text}\n[store]\nurl = "sqlite:///{directory / "monitor.db"}"\n', encoding="utf-8")
    return CliRunner().invoke(main, ["check", "--config", str(path)])


def changed(log: Loans, **columns: Any) -> Loans:
    """The log with other predictions."""
    return Loans(log.predictions.assign(**columns), log.labels, log.reference)


def test_words_threshold_and_those_that_labels_come_for_are_written_with_their_evidence(
    url: str, tmp_path: Path
) -> None:
    model, text = init(url, loans())

    assert model["predictions"]["threshold"] == 0.3
    assert model["predictions"]["score"] == "default_score"
    assert "prediction" not in model["predictions"]
    assert model["labels"]["only_for"] == ["approve"]
    assert model["classes"] == {
        "positive": "DEFAULT",
        "negative": "PAID",
        "names": {"DEFAULT": ["decline"], "PAID": ["approve"]},
    }
    assert "# decision is approve below and decline from there on, in all of 5,000 rows" in text
    assert "% of 5,000 labels are of these predictions, 7" in text
    assert not {"decision", "default_score"} & {
        *model["features"]["numeric"],
        *model["features"]["categorical"],
    }
    result = check(tmp_path, text)
    assert result.exit_code == 0, result.stderr
    (warned,) = [line for line in result.stderr.splitlines() if line.startswith("warning")]
    assert '"income" (median 297,208, in the reference 2,962: ×100, as in other units' in warned


def test_labels_that_come_for_everybody_are_not_restricted(sqlite: str, tmp_path: Path) -> None:
    model, text = init(sqlite, loans(selective=False))

    assert model["predictions"]["threshold"] == 0.3
    assert "only_for" not in model["labels"]
    assert check(tmp_path, text).exit_code == 0


@pytest.mark.slow
def test_decisions_with_exceptions_are_read_from_their_column(sqlite: str, tmp_path: Path) -> None:
    log = loans()
    odd = np.random.default_rng(1).random(len(log.predictions)) < 0.01
    decision = log.predictions["decision"].where(~odd, "approve")

    model, text = init(sqlite, changed(log, decision=decision))

    assert model["predictions"]["prediction"] == "decision"
    assert "threshold" not in model["predictions"]
    assert model["classes"]["names"] == {"DEFAULT": ["decline"], "PAID": ["approve"]}
    assert model["labels"]["only_for"] == ["approve"]
    assert check(tmp_path, text).exit_code == 0


@pytest.mark.slow
def test_a_score_that_is_high_for_the_good_names_the_good_as_positive(sqlite: str) -> None:
    log = loans(drift_day=None)

    model, text = init(sqlite, changed(log, default_score=1 - log.predictions["default_score"]))

    assert model["classes"]["positive"] == "PAID"
    assert "its scores are higher: ROC AUC 0." in text
    assert model["predictions"]["threshold"] == pytest.approx(0.7, abs=0.001)
    assert model["labels"]["only_for"] == ["approve"]


def test_a_young_log_does_not_tell_labels_that_never_come_from_late_ones(sqlite: str) -> None:
    log = loans(30)
    known = log.labels[log.labels["known_at"] <= log.predictions["requested_at"].max()]

    model, _ = init(sqlite, Loans(log.predictions, known, log.reference))

    assert "only_for" not in model["labels"]


def test_without_the_keys_check_says_what_to_write(sqlite: str, tmp_path: Path) -> None:
    _, text = init(sqlite, loans())
    bare = "\n".join(line for line in text.split("\n") if not line.startswith(("only_for", "names")))

    result = check(tmp_path, bare)

    assert result.exit_code == 0
    assert 'write [models.labels] only_for = ["PAID"]' in result.stderr


@pytest.mark.slow
def test_words_that_nothing_explains_are_a_fault_with_the_line_to_write(sqlite: str, tmp_path: Path) -> None:
    _, text = init(sqlite, loans())
    lines = [line for line in text.split("\n") if not line.startswith(("only_for", "names", "threshold"))]
    written = "\n".join(lines).replace("# prediction =", "prediction =")

    result = check(tmp_path, written)

    assert result.exit_code == 2
    assert 'write [models.classes] names = { DEFAULT = ["decline"], PAID = ["approve"] }' in result.stderr


@pytest.mark.slow
def test_a_reference_of_another_positive_class_is_a_fault(sqlite: str, tmp_path: Path) -> None:
    log = loans()
    _, text = init(sqlite, log)
    log.write_reference(tmp_path / "training.parquet")
    lines = [line for line in text.split("\n") if not line.startswith(("from =", "to ="))]
    written = "\n".join(lines).replace(
        "[models.reference]", '[models.reference]\nfile = "training.parquet"\n#'
    )

    assert check(tmp_path, written).exit_code == 0
    swapped = written.replace('positive = "DEFAULT"', 'positive = "PAID"').replace(
        'negative = "PAID"', 'negative = "DEFAULT"'
    )
    result = check(tmp_path, swapped)
    assert result.exit_code == 2
    assert 'write [models.classes] positive = "DEFAULT" and negative = "PAID"' in result.stderr


@pytest.mark.slow
def test_a_training_set_without_decisions_is_a_reference(sqlite: str, tmp_path: Path) -> None:
    log = loans()
    _, text = init(sqlite, log)
    reference: pd.DataFrame = log.reference.drop(columns="decision")
    reference.to_parquet(tmp_path / "training.parquet")
    lines = [line for line in text.split("\n") if not line.startswith(("from =", "to ="))]

    result = check(
        tmp_path,
        "\n".join(lines).replace("[models.reference]", '[models.reference]\nfile = "training.parquet"\n#'),
    )

    assert result.exit_code == 0, result.stderr


@pytest.mark.slow
@pytest.mark.parametrize("training", ["", "training.parquet"])
def test_scores_that_have_turned_round_of_late_do_not_turn_the_classes_round(
    sqlite: str, tmp_path: Path, training: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = loans(selective=False, drift_day=None)
    late = log.predictions["requested_at"] >= day(60)
    score = log.predictions["default_score"]
    score = score.where(~late, 1 - score)
    decision = np.where(score < 0.3, "approve", "decline")
    monkeypatch.chdir(tmp_path)
    if training:
        log.reference.drop(columns="decision").to_parquet(training)
    given = ("--reference", training) if training else ()

    model, text = init(sqlite, changed(log, default_score=score, decision=decision), *given)

    assert model["classes"] == {"positive": "DEFAULT", "negative": "PAID"}
    assert model["predictions"]["threshold"] == pytest.approx(0.3, abs=0.001)
    assert '# names = { DEFAULT = ["decline"], PAID = ["approve"] }' in text
    result = check(tmp_path, text)
    assert result.exit_code == 0
    assert "of the labels looked at the scores are lower for the positive class" in result.stderr
