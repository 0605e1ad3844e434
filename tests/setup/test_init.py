"""A first configuration of tables that nobody described: it passes the check, and says what it is sure of."""

import json
import sqlite3
import tomllib
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result
from sqlalchemy.pool import NullPool

from monitor.cli import main
from monitor.setup.nested_columns import keys_in

DAYS, PER_DAY = 40, 24
N = DAYS * PER_DAY
START = datetime(2024, 3, 1)  # noqa: DTZ001 -- as a naive column holds it
ENGINES = [
    "sqlite",
    pytest.param("postgresql", marks=pytest.mark.postgres),
    pytest.param("mariadb", marks=pytest.mark.mariadb),
]


@pytest.fixture(params=ENGINES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each engine."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'serving.db'}"
    fixture = "postgres_url" if request.param == "postgresql" else "mariadb_url"
    found: str = request.getfixturevalue(fixture)
    return found


def create(url: str, name: str, rows: Sequence[dict[str, Any]], **types: Any) -> None:
    """A table and its rows."""
    engine = sa.create_engine(url, poolclass=NullPool)
    table = sa.Table(name, sa.MetaData(), *(sa.Column(column, kind) for column, kind in types.items()))
    with engine.begin() as connection:
        table.create(connection)
        connection.execute(table.insert(), list(rows))


def moments(late: timedelta = timedelta(0)) -> list[datetime]:
    return [START + timedelta(hours=at) + late for at in range(N)]


def loans(url: str, **changed: Any) -> None:
    """A binary model under odd names: ids of text, times as timestamps, classes as words."""
    rng = np.random.default_rng(1)
    risk, income = rng.uniform(size=N), rng.normal(3000, 500, N)
    create(
        url,
        "loan_scores",
        [
            {
                "application_no": f"A{at:05d}",
                "scored_on": scored,
                "pd_estimate": float(risk[at]),
                "release": "r7" if at < N // 2 else "r8",
                "monthly_income": float(income[at]),
                "branch": ("north", "south", "west")[at % 3],
            }
            for at, scored in enumerate(moments())
        ],
        application_no=sa.String(20),
        scored_on=sa.DateTime,
        pd_estimate=sa.Double,
        release=sa.String(10),
        monthly_income=sa.Double,
        branch=sa.String(10),
    )
    create(
        url,
        "repayments",
        [
            {
                "application_no": f"A{at:05d}",
                "final_state": "DEFAULT" if risk[at] * rng.uniform() > 0.5 else "PAID",
                "known_since": known,
            }
            for at, known in enumerate(moments(timedelta(days=2)))
        ],
        application_no=sa.String(20),
        final_state=sa.String(10),
        known_since=sa.DateTime,
    )


def init(url: str, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["init", "--url", url, *arguments])


def written(result: Result) -> Any:
    return tomllib.loads(result.stdout)


def check(directory: Path, text: str, **environ: str) -> Result:
    path = directory / "config.toml"
    path.write_text(f'{text}\n[store]\nurl = "sqlite:///{directory / "monitor.db"}"\n', encoding="utf-8")
    return CliRunner().invoke(main, ["check", "--strict", "--config", str(path)], env=environ)


@pytest.mark.parametrize("far", ["1970-01-02", "2031-01-01"])
@pytest.mark.parametrize("indexed", [True, False])
def test_rows_years_off_do_not_move_the_reference(url: str, far: str, *, indexed: bool) -> None:
    loans(url)
    engine = sa.create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        moment = f"'{far} 00:00:00'" if url.startswith("sqlite") else f"TIMESTAMP '{far} 00:00:00'"
        connection.exec_driver_sql(f"INSERT INTO loan_scores SELECT 'B1', {moment}, 0.5, 'r7', 3000, 'north'")
        if indexed:
            connection.exec_driver_sql("CREATE INDEX scored ON loan_scores (scored_on)")

    text = written(init(url, "--predictions", "loan_scores", "--labels", "repayments"))

    reference = text["models"][0]["reference"]
    assert (reference["from"], reference["to"]) == ("2024-03-01", "2024-03-20")


def test_tables_under_odd_names_get_a_configuration_that_passes_the_check(url: str, tmp_path: Path) -> None:
    loans(url)

    result = init(url, "--predictions", "loan_scores", "--labels", "repayments", "--name", "loans")

    assert result.exit_code == 0, result.stderr
    (model,) = written(result)["models"]
    assert model["task"] == "binary"
    assert model["predictions"] == {
        "table": "loan_scores",
        "id": "application_no",
        "event_time": "scored_on",
        "score": "pd_estimate",
        "threshold": 0.5,
        "version": "release",
    }
    assert model["labels"] == {
        "table": "repayments",
        "id": "application_no",
        "label": "final_state",
        "reported_at": "known_since",
    }
    assert model["classes"] == {"positive": "DEFAULT", "negative": "PAID"}
    assert model["features"] == {"numeric": ["monthly_income"], "categorical": ["branch"]}
    assert model["reference"] == {"from": "2024-03-01", "to": "2024-03-20"}
    assert (
        "labels are counted whole: a day on which one comes reads all records of its pane again"
        in result.stderr
    )
    done = check(tmp_path, result.stdout)
    assert (done.exit_code, done.stderr) == (0, "")


def test_every_guess_says_why(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'serving.db'}"
    loans(url)

    lines = init(url, "--predictions", "loan_scores", "--labels", "repayments").stdout.splitlines()

    assert (
        "# Written by `monitor init`: 960 rows of 960 in loan_scores; 960 rows of 960 in repayments." in lines
    )
    (line,) = (line for line in lines if line.startswith("id = ") and "unique" in line)
    assert line == 'id = "application_no"       # varchar(20), unique in 960 rows'
    assert 'id = "application_no"       # varchar(20); 200 of 200 labels looked at are found by it' in lines
    assert any(line.startswith('# logged_at = "…"') and "FILL IN" in line for line in lines)


def test_epochs_several_classes_and_their_probabilities_are_seen(url: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    shares = rng.dirichlet([1, 1, 1], N)
    names = ("DM", "DO", "PP")
    seconds = [1_709_251_200 + 3_600 * at for at in range(N)]
    create(
        url,
        "plots",
        [
            {"plot": at, "taken_ts": seconds[at], "weight": float(rng.normal(9, 2))}
            | {f"p_{name}": float(shares[at, place]) for place, name in enumerate(names)}
            for at in range(N)
        ],
        plot=sa.BigInteger, taken_ts=sa.BigInteger, weight=sa.Double,
        p_DM=sa.Double, p_DO=sa.Double, p_PP=sa.Double,
    )  # fmt: skip
    create(
        url,
        "species_seen",
        [
            {"plot": at, "species": names[at % 3], "confirmed_at": (seconds[at] + 86_400) * 1_000}
            for at in range(N)
        ],
        plot=sa.BigInteger,
        species=sa.String(4),
        confirmed_at=sa.BigInteger,
    )

    result = init(url, "--predictions", "plots", "--labels", "species_seen")

    assert result.exit_code == 0, result.stderr
    (model,) = written(result)["models"]
    assert model["task"] == "multiclass"
    assert model["predictions"]["probabilities"] == {name: f"p_{name}" for name in names}
    assert (model["predictions"]["event_time"], model["predictions"]["event_time_unit"]) == ("taken_ts", "s")
    assert (model["labels"]["reported_at"], model["labels"]["reported_at_unit"]) == ("confirmed_at", "ms")
    assert check(tmp_path, result.stdout).exit_code == 0


def test_numbers_as_labels_make_a_regression_and_late_ones_a_longer_horizon(url: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    weight = rng.normal(40, 8, N)
    create(
        url,
        "forecasts",
        [
            {
                "request_id": at,
                "created_at": moment,
                "forecast": float(weight[at] + 1),
                "height": float(at % 7),
            }
            for at, moment in enumerate(moments())
        ],
        request_id=sa.BigInteger,
        created_at=sa.DateTime,
        forecast=sa.Double,
        height=sa.Double,
    )
    create(
        url,
        "measured",
        [
            {"request_id": at, "grams": float(weight[at]), "measured_at": moment}
            for at, moment in enumerate(moments(timedelta(days=45)))
        ],
        request_id=sa.BigInteger,
        grams=sa.Double,
        measured_at=sa.DateTime,
    )

    result = init(url, "--predictions", "forecasts", "--labels", "measured")

    assert result.exit_code == 0, result.stderr
    (model,) = written(result)["models"]
    assert (model["task"], model["predictions"]["prediction"]) == ("regression", "forecast")
    assert (model["labels"]["label"], model["horizon"]) == ("grams", "120d")
    assert check(tmp_path, result.stdout).exit_code == 0


def test_without_labels_the_truth_is_left_to_fill_in(url: str, tmp_path: Path) -> None:
    loans(url)

    result = init(url, "--predictions", "loan_scores")

    assert result.exit_code == 0, result.stderr
    assert "# [models.labels]           # FILL IN" in result.stdout
    assert check(tmp_path, result.stdout).exit_code == 0


def test_an_empty_table_of_labels_is_said_to_be_left_out(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'serving.db'}"
    loans(url)
    with sa.create_engine(url).begin() as connection:
        connection.execute(sa.text("CREATE TABLE outcomes (application TEXT, late INTEGER, known_at TEXT)"))

    result = init(url, "--predictions", "loan_scores", "--labels", "outcomes")

    assert 'warning: no column of table "outcomes" is seen to be the truth, as in an empty' in result.stderr
    assert '# table = "outcomes"' in result.stdout


def test_what_cannot_be_guessed_is_said_and_commented_out(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'serving.db'}"
    create(url, "things", [{"a": "x", "b": "y"}] * 9, a=sa.String, b=sa.String)

    result = init(url, "--predictions", "things")

    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        "fill in before use: id (no column looks like it)",
        "fill in before use: event_time (no column looks like it)",
        "fill in before use: score (no column looks like it)",
    ]
    assert '# event_time = "…"' in result.stdout
    tomllib.loads(result.stdout)


def test_a_table_without_rows_is_said_to_have_none(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'serving.db'}"
    with sa.create_engine(url, poolclass=NullPool).begin() as connection:
        connection.execute(sa.text("CREATE TABLE things (id BIGINT, scored_at TIMESTAMP, score FLOAT)"))

    result = init(url, "--predictions", "things")

    assert result.exit_code == 1
    assert 'fault: table "things" has no rows: run init again once it has some' in result.stderr.splitlines()
    tomllib.loads(result.stdout)


def test_labels_without_a_time_get_an_age_to_fill_in(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'serving.db'}"
    loans(url)
    engine = sa.create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE repayments DROP COLUMN known_since")

    result = init(url, "--predictions", "loan_scores", "--labels", "repayments")

    assert result.exit_code == 0, result.stderr
    assert written(result)["models"][0]["settle_after"] == "7d"
    assert check(tmp_path, result.stdout).exit_code == 0


def test_an_existing_file_is_never_overwritten(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'serving.db'}"
    loans(url)
    mine = tmp_path / "mine.toml"
    mine.write_text("# mine", encoding="utf-8")

    refused = init(url, "--predictions", "loan_scores", "--output", str(mine))
    done = init(url, "--predictions", "loan_scores", "--output", str(tmp_path / "new.toml"))

    assert (refused.exit_code, mine.read_text(encoding="utf-8")) == (2, "# mine")
    assert "is not overwritten" in refused.stderr
    assert (done.exit_code, done.stdout) == (0, "")
    assert "[[models]]" in (tmp_path / "new.toml").read_text(encoding="utf-8")


def test_a_table_that_is_not_there_is_said_with_the_nearest_one(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'serving.db'}"
    loans(url)

    result = init(url, "--predictions", "loan_score")

    assert result.exit_code == 1
    assert result.stderr == 'monitor: there is no table or view "loan_score"; did you mean "loan_scores"?\n'


@pytest.mark.postgres
def test_the_password_is_not_written_and_its_variable_is_named(postgres_url: str, tmp_path: Path) -> None:
    word = "s3cr@t/?"
    loans(postgres_url)
    secret = sa.make_url(postgres_url).set(password=word)
    name = f"{secret.database}_PASSWORD".upper()

    result = init(secret.render_as_string(hide_password=False), "--predictions", "loan_scores")

    assert result.exit_code == 0, result.stderr
    assert "s3cr" not in result.output
    assert f":${{{name}}}@" in result.stdout
    assert f"set the environment variable {name} where the monitor runs\n" in result.stderr
    assert check(tmp_path, result.stdout, **{name: word}).exit_code == 0


def test_a_url_may_name_its_secrets_itself(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'serving.db'}"
    loans(url)
    asked = ["init", "--url", "sqlite:///${WHERE}", "--predictions", "loan_scores"]

    filled = CliRunner().invoke(main, asked, env={"WHERE": str(tmp_path / "serving.db")})
    unset = CliRunner().invoke(main, asked)

    assert written(filled)["sources"]["WHERE"]["url"] == "sqlite:///${WHERE}"
    assert (unset.exit_code, unset.stderr) == (2, "--url: the environment variable WHERE is not set\n")


def test_a_label_table_that_models_share_is_looked_at_by_its_condition(url: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    ids, scores = [f"r{at:04d}" for at in range(N)], rng.uniform(size=N)
    rows: list[dict[str, Any]] = [
        {"Request ID": name, "made_ms": 1_709_251_200_000 + 3_600_000 * at, "score": float(scores[at])}
        for at, name in enumerate(ids)
    ]
    types = {"Request ID": sa.String(8), "made_ms": sa.BigInteger, "score": sa.Double}
    create(url, "scored", rows, **types)
    truth = [
        {"kind": kind, "ref": name, "truth": value, "known_ms": row["made_ms"] + 3_600_000}
        for row, name in zip(rows, ids, strict=True)
        for kind, value in (("paid", "late" if row["score"] > 0.7 else "paid"), ("area", "north"))
    ]
    words = sa.String(8)
    create(url, "truths", truth, kind=words, ref=words, truth=words, known_ms=sa.BigInteger)
    tables = ("--predictions", "scored", "--labels", "truths")

    result = init(url, *tables, "--labels-where", "kind = 'paid'")

    assert result.exit_code == 0, result.stderr
    (model,) = written(result)["models"]
    assert (model["task"], model["classes"]) == ("binary", {"positive": "late", "negative": "paid"})
    assert (model["predictions"]["id"], model["predictions"]["event_time_unit"]) == ("Request ID", "ms")
    assert (model["labels"]["where"], model["labels"]["id"]) == ("kind = 'paid'", "ref")
    assert check(tmp_path, result.stdout).exit_code == 0


def months(url: str, *, key: bool = False, labelled: bool = True) -> None:
    """Loans that are scored every month: neither the loan nor the month names a prediction."""
    engine = sa.create_engine(url, poolclass=NullPool)
    primary = ", PRIMARY KEY (loan_id, period)" if key else ""
    loans = [(f"L{at % 60:03d}", moment, (at * 37 % 101) / 101) for at, moment in enumerate(moments())]
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "CREATE TABLE scored (loan_id varchar(9) NOT NULL, period integer NOT NULL, "
            f"scored_at timestamp, pd double precision, is_shadow integer, model_version varchar(9){primary})"
        )
        connection.exec_driver_sql(
            "CREATE TABLE truths (loan_id varchar(9), period integer, defaulted integer, seen_at timestamp)"
        )
        for at, (loan, moment, risk) in enumerate(loans):
            row = f"('{loan}', {202400 + at // 60}, '{moment}'"
            connection.exec_driver_sql(f"INSERT INTO scored VALUES {row}, {risk}, {int(at % 9 == 0)}, 'v1')")
            if labelled:
                late = moment + timedelta(days=1)
                told = f"('{loan}', {202400 + at // 60}, {int(risk > 0.6)}, '{late}')"
                connection.exec_driver_sql(f"INSERT INTO truths VALUES {told}")


def test_two_columns_that_name_a_prediction_together_are_its_id(url: str, tmp_path: Path) -> None:
    months(url)

    result = init(url, "--predictions", "scored", "--labels", "truths")

    assert result.exit_code == 0, result.stderr
    (model,) = written(result)["models"]
    assert model["predictions"]["id"] == model["labels"]["id"] == ["loan_id", "period"]
    assert model["labels"]["label"] == "defaulted"
    assert "unique together in 960 rows, none is alone" in result.stdout
    assert check(tmp_path, result.stdout).exit_code == 0


def test_a_declared_key_of_several_columns_is_the_id(url: str, tmp_path: Path) -> None:
    months(url, key=True, labelled=False)

    result = init(url, "--predictions", "scored")

    assert written(result)["models"][0]["predictions"]["id"] == ["loan_id", "period"]
    assert ": the primary key" in result.stdout
    assert check(tmp_path, result.stdout).exit_code == 0


def test_rows_that_are_logged_twice_get_no_id_with_a_moment(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'serving.db'}"
    rows = [
        {"request_id": at // 2, "made_at": moment, "score": at % 100 / 100}
        for at, moment in enumerate(moments())
    ]
    create(url, "scored", rows, request_id=sa.BigInteger, made_at=sa.DateTime, score=sa.Double)

    result = init(url, "--predictions", "scored")

    assert written(result)["models"][0]["predictions"]["id"] == "request_id"
    assert "NOT unique" in result.stdout


def test_a_column_that_may_tell_shadow_rows_is_hinted_at(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'serving.db'}"
    months(url)

    result = init(url, "--predictions", "scored", "--labels", "truths")

    lines = result.stdout.splitlines()
    assert "is_shadow" not in str(written(result))
    at = next(at for at, line in enumerate(lines) if line.startswith("# [models.serving]"))
    assert "FILL IN" in lines[at]
    assert lines[at + 1].startswith('# column = "is_shadow"')
    assert "0 89%, 1 11%" in lines[at + 1]
    assert lines[at + 2] == '# values = ["0", "1"]'
    uncommented = "\n".join([*lines[:at], *(line.removeprefix("# ") for line in lines[at : at + 3])])
    assert check(tmp_path, uncommented).exit_code == 0


def test_a_log_that_pauses_at_weekends_is_warned_of(tmp_path: Path) -> None:
    url, days = f"sqlite:///{tmp_path / 'serving.db'}", [day for day in range(60) if day % 7 not in (1, 2)]
    rows = [
        {"id": f"{day}-{at}", "made_at": START + timedelta(days=day, minutes=at), "score": at / 40, "x": at}
        for day in days
        for at in range(40)
    ]
    create(url, "loads", rows, id=sa.String(20), made_at=sa.DateTime, score=sa.Double, x=sa.Integer)

    done = CliRunner().invoke(main, ["init", "--url", url, "--predictions", "loads"])

    assert 'rule "log_stopped" fires after 36h' in done.stderr


def test_a_reference_file_is_named_as_the_configuration_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    url = "sqlite:///serving.db"
    loans(url)
    rng = np.random.default_rng(5)
    columns = {"pd_estimate": rng.uniform(size=200), "branch": rng.choice(["north", "south"], 200)}
    pq.write_table(pa.table(columns), tmp_path / "test.parquet")
    Path("conf").mkdir()
    written = ["--output", "conf/config.toml", "--reference", "test.parquet"]

    asked = ["--predictions", '"loan_scores"', "--labels", "repayments"]
    done = CliRunner().invoke(main, ["init", "--url", url, *asked, *written])

    config = tomllib.loads(Path("conf/config.toml").read_text(encoding="utf-8"))
    assert config["sources"]["serving"]["url"] == "sqlite:///../serving.db"
    (found,) = config["models"]
    assert found["reference"] == {"file": "../test.parquet"}
    assert found["features"] == {"categorical": ["branch"]}  # the income is not in the file
    assert (done.exit_code, "fault" in done.stderr) == (0, False)
    assert "the reference has no labels: performance and " in checked()
    luck = np.where(columns["pd_estimate"] * rng.uniform(size=200) > 0.5, "DEFAULT", "PAID")
    pq.write_table(pa.table(columns | {"final_state": luck}), tmp_path / "test.parquet")
    assert "the reference" not in checked()
    known = np.where(
        columns["pd_estimate"] > 0.5, "DEFAULT", "PAID"
    )  # as a model knows what it was fitted on
    pq.write_table(pa.table(columns | {"final_state": known}), tmp_path / "test.parquet")
    with sqlite3.connect("serving.db") as connection:
        connection.execute("UPDATE repayments SET final_state = 'DEFAULT' WHERE rowid % 3 = 0")
    assert "the reference's roc_auc is 1.000" in checked()


def checked() -> str:
    """What `check` says of the configuration on standard error."""
    done = CliRunner().invoke(main, ["check", "--config", "conf/config.toml"])
    assert done.exit_code == 0, done.output
    return done.stderr


def test_what_is_no_json_or_nested_beyond_measure_has_no_keys() -> None:
    assert keys_in(["{", "[" * 100_000, '{"a": ' * 100_000]) == ()


@pytest.mark.parametrize("kind", [sa.JSON(), sa.Text()])
def test_keys_of_json_are_proposed_under_their_own_names(url: str, kind: sa.JSON | sa.Text) -> None:
    rows = [
        {
            "id": at,
            "at": f"2024-03-{1 + at // 24:02d} 0{at % 10}:00:00",
            "score": (at % 100) / 100,
            "body": body if isinstance(kind, sa.JSON) else json.dumps(body),
        }
        for at in range(480)
        for body in [{"km": at + 0.5, "the plan": "a", "it's": "b", "odd\\'": "c"}]
    ]
    create(url, "Odd log", rows, id=sa.Integer, at=sa.String(40), score=sa.Float, body=kind)

    text = CliRunner().invoke(main, ["init", "--url", url, "--predictions", "Odd log"]).stdout

    line = next(line for line in text.splitlines() if line.startswith("# query = "))
    query = tomllib.loads(line.removeprefix("# ").partition("  # ")[0])["query"]
    with sa.create_engine(url, poolclass=NullPool).connect() as connection:
        first = (
            connection.exec_driver_sql(f"SELECT * FROM ({query}) AS q ORDER BY id LIMIT 1").mappings().one()
        )
    assert [first[key] for key in ("km", "the plan", "it's")] == [0.5, "a", "b"]
    assert first["odd\\'"] in ("c", None)  # SQLite knows no key with a backslash


@pytest.mark.parametrize("of_score", [False, True])
def test_a_column_of_0_and_1_is_a_prediction_only_where_the_score_tells_its_values_apart(
    tmp_path: Path, *, of_score: bool
) -> None:
    url = f"sqlite:///{tmp_path / 'serving.db'}"
    scores = [(at * 37 % 100) / 100 for at in range(2_000)]
    rows = [
        {
            "id": f"{at:05d}",
            "event_time": f"2026-01-{1 + at // 100:02d} 00:{at % 60:02d}:00",
            "score": score,
            "night": int(score > 0.3 if of_score else at % 5 == 0),
        }
        for at, score in enumerate(scores)
    ]
    truths = [{"id": one["id"], "late": int(at % 7 == 0)} for at, one in enumerate(rows)]
    text, whole = sa.String, sa.Integer
    create(url, "scored", rows, id=text, event_time=text, score=sa.Double, night=whole)
    create(url, "truths", truths, id=text, late=whole)

    (model,) = written(init(url, "--predictions", "scored", "--labels", "truths"))["models"]

    assert ("night" in model.get("features", {}).get("numeric", [])) != of_score
    assert "prediction" not in model["predictions"]
    assert (model["predictions"]["threshold"] == 0.31) == of_score


def prices(url: str, kind: Any = None, *, second: float = 0.0, paid: bool = False) -> None:
    """A regression whose prediction is `est_price`, beside features that are like the price too.

    Parameters
    ----------
    kind
        type of the prediction; None: numeric(12, 2).
    second
        how little `old_price` differs from the prediction, if it is there; 0: it is not.
    paid
        whether the price that was paid stands in the log, too.
    """
    rng = np.random.default_rng(5)
    area = rng.uniform(40, 200, N)
    price = 3_000 * area * np.exp(rng.normal(0, 0.15, N))
    guessed = price * np.exp(rng.normal(0, 0.2, N))
    old = price * np.exp(rng.normal(0, second, N))
    kind = sa.Numeric(12, 2) if kind is None else kind
    more: dict[str, Any] = {"old_price": old} if second else {}
    more |= {"paid": price.round(2)} if paid else {}
    create(
        url,
        "homes",
        [
            {
                "home_id": f"H{at:05d}",
                "asked_at": moment,
                "est_price": kind.python_type(round(guessed[at], 2)),
            }
            | {"area": int(area[at]), "storey": at % 9 + 0.5, "owner_name": f"owner {at % 700}"}
            | {name: float(values[at]) for name, values in more.items()}
            for at, moment in enumerate(moments())
        ],
        home_id=sa.String(10),
        asked_at=sa.DateTime,
        area=sa.Integer,
        storey=sa.Double,
        owner_name=sa.String(20),
        est_price=kind,
        **dict.fromkeys(more, sa.Double),
    )
    create(
        url,
        "sales",
        [
            {"home_id": f"H{at:05d}", "sold_for": round(float(price[at]), 2), "sold_at": moment}
            for at, moment in enumerate(moments(timedelta(days=2)))
        ],
        home_id=sa.String(10),
        sold_for=sa.Numeric(12, 2),
        sold_at=sa.DateTime,
    )


@pytest.mark.parametrize("kind", [sa.Numeric(12, 2), sa.Integer(), sa.Double(), sa.String(20)])
def test_the_prediction_of_a_number_is_the_column_that_goes_with_the_label(
    url: str, kind: Any, tmp_path: Path
) -> None:
    prices(url, kind)

    result = init(url, "--predictions", "homes", "--labels", "sales")

    assert result.exit_code == 0, result.stderr
    (model,) = written(result)["models"]
    assert model["task"] == "regression"
    assert model["predictions"]["prediction"] == "est_price"
    assert model["features"]["numeric"] == ["area", "storey"]
    assert "rank correlation 0.9" in next(line for line in result.stdout.splitlines() if "est_price" in line)
    assert check(tmp_path, result.stdout).exit_code == 0


def test_what_was_paid_is_the_truth_and_no_prediction(url: str) -> None:
    prices(url, paid=True)

    (model,) = written(init(url, "--predictions", "homes", "--labels", "sales"))["models"]

    assert model["predictions"]["prediction"] == "est_price"


def test_two_columns_that_go_with_the_label_alike_are_named_and_none_is_taken(url: str) -> None:
    prices(url, second=0.21)

    result = init(url, "--predictions", "homes", "--labels", "sales")

    assert result.exit_code == 1
    (model,) = written(result)["models"]
    assert "prediction" not in model["predictions"]
    (line,) = (line for line in result.stdout.splitlines() if line.startswith("# prediction = "))
    assert "FILL IN" in line
    assert "est_price" in line
    assert "old_price" in line
    assert "fill in before use: prediction" in result.stderr


def test_a_truth_beside_the_prediction_tells_it_too(url: str) -> None:
    rng = np.random.default_rng(6)
    price = rng.uniform(1e5, 9e5, N)
    create(
        url,
        "homes",
        [
            {"home_id": at, "asked_at": moment, "area": float(price[at] / 3_000 * rng.uniform(0.8, 1.2))}
            | {"est": float(price[at] * rng.uniform(0.9, 1.1))}
            | {"actual_price": None if at % 3 else float(price[at])}
            for at, moment in enumerate(moments())
        ],
        home_id=sa.BigInteger,
        asked_at=sa.DateTime,
        area=sa.Double,
        est=sa.Double,
        actual_price=sa.Double,
    )

    (model,) = written(init(url, "--predictions", "homes"))["models"]

    assert (model["predictions"]["prediction"], model["labels"]["label"]) == ("est", "actual_price")
    assert model["features"]["numeric"] == ["area"]


@pytest.mark.parametrize("exceptions", [0, 20])
def test_a_decision_that_a_threshold_may_stand_for_is_never_a_feature_without_a_word(
    url: str, tmp_path: Path, exceptions: int
) -> None:
    """Its name says nothing, and its words are the label's: with exceptions it may be a feature."""
    rng = np.random.default_rng(8)
    scores = rng.random(N)
    decided = (scores >= 0.7) ^ (np.arange(N) < exceptions)
    create(
        url,
        "scored",
        [
            {"id": at, "event_time": moment, "score": float(scores[at]), "chosen": int(decided[at])}
            | {"night": int(at % 24 < 7)}
            for at, moment in enumerate(moments())
        ],
        id=sa.BigInteger,
        event_time=sa.DateTime,
        score=sa.Double,
        chosen=sa.Integer,
        night=sa.Integer,
    )
    create(
        url,
        "truths",
        [{"id": at, "late": int(rng.random() < scores[at])} for at in range(N)],
        id=sa.BigInteger,
        late=sa.Integer,
    )

    result = init(url, "--predictions", "scored", "--labels", "truths")

    (model,) = written(result)["models"]
    assert "night" in model["features"]["numeric"]
    assert "night" not in result.stdout.partition("[models.features]")[0]
    if exceptions:
        assert "chosen" in model["features"]["numeric"]
        (line,) = (line for line in result.stdout.splitlines() if line.startswith('# prediction = "chosen"'))
        assert "FILL IN" in line
        assert "a feature until then" in line
    else:
        assert "chosen" not in model["features"]["numeric"]
        assert '# prediction = "chosen"  # instead of the threshold' in result.stdout
