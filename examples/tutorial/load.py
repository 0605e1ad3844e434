"""Three prediction logs under odd names and types, loaded into a PostgreSQL database as if it happened now.

`python examples/tutorial/load.py URL` makes the tables of docs/tutorial.md out of the flights and the rodents
beside this directory, moved by whole weeks so that their newest rows are of this moment. Run it again, and
what has happened since is added.
"""

import argparse
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

HERE = Path(__file__).parent
WEEK = timedelta(days=7)
FLIGHTS_NOW = datetime(2013, 10, 1, tzinfo=UTC)  # this moment, in the flights' time
RODENTS_NOW = datetime(2000, 6, 1, tzinfo=UTC)  # and in the rodents'
FLIGHT_DAYS, RODENT_DAYS, SHADOW_DAYS = 120, 1_500, 30
FED = ["carrier", "origin", "dep_hour", "distance_mi", "recent_dep_delay_min", "temp_f", "wind_mph"]
PAYLOAD = ["sched_block_min", "distance_mi", "origin_hour_load", "temp_f", "carrier"]
LEVELS = ["DM", "DO", "DS", "NL", "OL", "OT", "PE", "PF", "PP", "RM", "other"]
CAPTURE = ["hindfoot_mm", "weight_g", "sex", "plot_type"]
Rows = list[tuple[object, ...]]

TABLES = """
CREATE SCHEMA "Risk Ops";
SET LOCAL search_path = "Risk Ops";

CREATE TABLE "Flight Scores" (
    "Request UUID" uuid NOT NULL, "Scored At" timestamp NOT NULL, "Model" text NOT NULL,
    "Stage" text NOT NULL, "P(late)" numeric(6, 5), "Carrier" text, "Origin" text,
    "Dep Hour" smallint, "Distance" real, "Recent Delay" real, "Temp F" real, "Wind" real
);
CREATE INDEX ON "Flight Scores" ("Scored At");

CREATE TYPE "Species" AS ENUM ('DM', 'DO', 'DS', 'NL', 'OL', 'OT', 'PE', 'PF', 'PP', 'RM', 'other');
CREATE TABLE "Captures" (
    id bigint PRIMARY KEY, at timestamptz NOT NULL, said "Species" NOT NULL, p double precision[] NOT NULL,
    hindfoot_mm real, weight_g real, sex text, plot_type text
);
CREATE INDEX ON "Captures" (at);
CREATE VIEW "Species Calls" AS
SELECT id, at, said, {p}, hindfoot_mm, weight_g, sex, plot_type FROM "Captures";

CREATE TABLE "Ground Truth" (
    "Kind" text NOT NULL, "Ref" text NOT NULL, "Truth" text, "Reported" timestamptz NOT NULL,
    "Rev" smallint NOT NULL
);
CREATE INDEX ON "Ground Truth" ("Reported");
CREATE INDEX ON "Ground Truth" ("Ref");

CREATE TABLE public.delay_log (
    airport text NOT NULL, leg bigint NOT NULL, made_ms bigint NOT NULL, logged_ms bigint NOT NULL,
    body jsonb NOT NULL
);
CREATE TABLE public.delay_actuals (
    airport text NOT NULL, leg bigint NOT NULL, minutes numeric, known_ms bigint
);
CREATE INDEX ON public.delay_actuals (known_ms);
CREATE INDEX ON public.delay_actuals (airport, leg);

CREATE TABLE public.tutorial_clock (began timestamptz NOT NULL, loaded timestamptz NOT NULL);
"""


def main() -> None:
    """Make the tables if they are not there, and add the rows of the time since the last run."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("url", help="postgresql://user:password@host/database")
    options.add_argument("--now", type=_moment, default=datetime.now(UTC), help="default: this moment")
    given = options.parse_args()
    with psycopg.connect(given.url) as connection:
        began, loaded = _clock(connection, given.now)
        for table, columns, rows in _due(began, loaded, given.now):
            _copy(connection, table, columns, rows)
            print(f"{len(rows):>7,} rows into {table}")
    if loaded is None:
        reference = Path("late_reference.parquet")
        _reference().to_parquet(reference, index=False)
        print(f"reference of the flight scores: {reference}")
        week_ago = given.now - WEEK
        print(f"the last week: --from {week_ago:%Y-%m-%d} --to {given.now:%Y-%m-%d}")
    with psycopg.connect(given.url, autocommit=True) as connection:
        connection.execute("ANALYZE")


def _moment(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _clock(
    connection: psycopg.Connection[tuple[object, ...]], now: datetime
) -> tuple[datetime, datetime | None]:
    """First moment of the first run, by which all is moved, and the moment up to which rows are there."""
    if connection.execute("SELECT to_regclass('public.tutorial_clock')").fetchone() == (None,):
        shares = ", ".join(f'p[{k}] AS "p_{level}"' for k, level in enumerate(LEVELS, 1))
        connection.execute(TABLES.format(p=shares).encode())
        connection.execute("INSERT INTO public.tutorial_clock VALUES (%s, %s)", (now, now))
        return now, None
    began, loaded = connection.execute("SELECT began, loaded FROM public.tutorial_clock").fetchone() or ()
    assert isinstance(began, datetime)
    assert isinstance(loaded, datetime)
    connection.execute("UPDATE public.tutorial_clock SET loaded = %s", (now,))
    return began, loaded


def _due(began: datetime, loaded: datetime | None, now: datetime) -> Iterator[tuple[str, list[str], Rows]]:
    """Rows of each table that became visible after `loaded`, and not after `now`."""
    moved = (began - FLIGHTS_NOW) // WEEK * WEEK
    flights, truths = _moved("flights", moved)
    flights["leg"] = flights.groupby("origin").cumcount() + 1  # an id with the airport only
    first = began - timedelta(days=FLIGHT_DAYS)
    made = _between(flights[flights["event_time"] >= first], "logged_at", loaded, now)
    known = _between(
        truths[truths["prediction_id"].isin(flights["prediction_id"])], "reported_at", loaded, now
    )
    known = known[known["reported_at"] >= first]
    yield '"Risk Ops"."Flight Scores"', [*_SCORES, *FED_NAMES], _scores(made, began)
    yield "public.delay_log", ["airport", "leg", "made_ms", "logged_ms", "body"], _delays(made)
    legs = known.merge(flights[["prediction_id", "origin", "leg"]], on="prediction_id")
    actual = zip(
        legs["origin"], legs["leg"], _plain(legs["arr_delay_min"]), _ms(legs["reported_at"]), strict=True
    )
    yield "public.delay_actuals", ["airport", "leg", "minutes", "known_ms"], list(actual)

    moved = (began - RODENTS_NOW) // WEEK * WEEK
    rodents, species = _moved("rodents", moved)
    first = began - timedelta(days=RODENT_DAYS)
    caught = _between(rodents[rodents["event_time"] >= first], "logged_at", loaded, now)
    yield '"Risk Ops"."Captures"', ["id", "at", "said", "p", *CAPTURE], _captures(caught)
    told = _between(species, "reported_at", loaded, now)
    told = told[told["reported_at"] >= first]
    late = known["late"].map({1: "late", 0: "on time"})
    truth = [
        *_truth("arrival", [str(_uuid(one)) for one in known["prediction_id"]], late, known),
        *_truth("species", told["prediction_id"].astype(str), told["level"], told),
    ]
    yield '"Risk Ops"."Ground Truth"', ["Kind", "Ref", "Truth", "Reported", "Rev"], truth


_SCORES = ["Request UUID", "Scored At", "Model", "Stage", "P(late)"]
FED_NAMES = ["Carrier", "Origin", "Dep Hour", "Distance", "Recent Delay", "Temp F", "Wind"]


def _moved(name: str, by: timedelta) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Predictions and labels of a stream, all times later by `by`."""
    found = []
    for file, times in (("predictions", ["event_time", "logged_at"]), ("labels", ["reported_at"])):
        frame = pd.read_parquet(HERE.parent / name / f"{file}.parquet")
        found.append(frame.assign(**{time: frame[time] + by for time in times}))
    return found[0], found[1]


def _between(frame: pd.DataFrame, time: str, after: datetime | None, until: datetime) -> pd.DataFrame:
    due = frame[frame[time] <= until]
    return due if after is None else due[due[time] > after]


def _scores(made: pd.DataFrame, began: datetime) -> Rows:
    """One row of the model that serves, and of late one of its possible successor in the shadow."""
    shadow = made[made["event_time"] >= began - timedelta(days=SHADOW_DAYS)]
    rows: Rows = []
    for part, model, stage, score in (
        (made, "gb-1", "live", "score"),
        (shadow, "lr-2", "shadow", "score_challenger"),
    ):
        local = part["event_time"].dt.tz_convert("Europe/Vienna").dt.tz_localize(None)
        ids = [_uuid(one) for one in part["prediction_id"]]
        columns = [local.dt.to_pydatetime(), *([value] * len(part) for value in (model, stage))]
        rows += zip(ids, *columns, part[score].round(5), *(_plain(part[name]) for name in FED), strict=True)
    return rows


def _delays(made: pd.DataFrame) -> Rows:
    bodies = [
        Jsonb({"minutes": minutes, "model": "reg-7", "input": dict(zip(PAYLOAD, values, strict=True))})
        for minutes, *values in zip(
            _plain(made["pred_delay_min"]), *(_plain(made[name]) for name in PAYLOAD), strict=True
        )
    ]
    return list(
        zip(made["origin"], made["leg"], _ms(made["event_time"]), _ms(made["logged_at"]), bodies, strict=True)
    )


def _captures(caught: pd.DataFrame) -> Rows:
    shares = caught[[f"p_{level}" for level in LEVELS]].astype(float).to_numpy().tolist()
    features = (_plain(caught[name]) for name in CAPTURE)
    return list(
        zip(
            caught["prediction_id"], caught["event_time"], caught["predicted"], shares, *features, strict=True
        )
    )


def _truth(kind: str, ids: list[str] | pd.Series, values: pd.Series, labels: pd.DataFrame) -> Rows:
    kinds = [kind] * len(labels)
    return list(
        zip(kinds, ids, _plain(values), labels["reported_at"], labels["revision"].astype(int), strict=True)
    )


def _reference() -> pd.DataFrame:
    """The training data of the flight scores, with the columns' names of the table."""
    frame = pd.read_parquet(HERE.parent / "flights" / "reference.parquet")
    truth = frame["late"].map({1: "late", 0: "on time"})
    named = frame.rename(columns={"score": "P(late)", **dict(zip(FED, FED_NAMES, strict=True))})
    return named[["P(late)", *FED_NAMES]].assign(Truth=truth)


def _plain(column: pd.Series) -> list[object]:
    """Python's values, None for what is missing."""
    return column.astype(object).where(column.notna(), None).tolist()


def _ms(column: pd.Series) -> list[int]:
    return [int(moment.timestamp() * 1_000) for moment in column]


def _uuid(one: int) -> uuid.UUID:
    return uuid.uuid5(uuid.NAMESPACE_OID, str(one))


def _copy(
    connection: psycopg.Connection[tuple[object, ...]], table: str, columns: list[str], rows: Rows
) -> None:
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    with (
        connection.cursor() as cursor,
        cursor.copy(sql.SQL("COPY {} ({}) FROM STDIN").format(sql.SQL(table), names)) as copy,
    ):
        for row in rows:
            copy.write_row(row)


if __name__ == "__main__":
    main()
