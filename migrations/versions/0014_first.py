"""All tables and views, as they were before `troubles`: what a store begins with.

Stores that are older than this are not upgraded any more: see docs/operations.md.
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = None
branch_labels = None
depends_on = None

_IDENTITY = "truth", "version", "segment", "measure", "subject", "against"
_SHARED = "level", "coverage", "warning"
_VALUES = (
    "value", "reason", "n", "lower", "upper", "level", "resolution", "coverage", "warning", "detail",
)  # fmt: skip
_OWN = tuple(name for name in _VALUES if name not in (*_SHARED, "detail"))
_TIMES = {
    "sqlite": "strftime('%Y-%m-%d %H:%M:%S', {column} / 1000000, 'unixepoch')",
    "postgresql": "to_timestamp({column} / 1e6)",
}
_STATISTICS = {  # of about ten thousand rows: SQLite would take any column to find ten of them
    ("series", "sqlite_autoindex_series_1"): "10000 5000 2000 20 10 2 2 1 1 1",
    ("row_sets", "ix_row_sets_run"): "10000 5000 2500 800 15 6",
    ("snapshot_rows", "snapshot_rows"): "400000 40 1",
    ("current_rows", "current_rows"): "10000 1 1",
}
_LATEST = "run", "model", "window", "window_end", "version", "segment", "measure", "subject", "against"


def upgrade() -> None:
    _create_tables()
    if op.get_bind().dialect.name == "sqlite":
        _describe_sizes()
    for name, sql in _views(op.get_bind().dialect.name).items():
        op.execute(f'CREATE VIEW "{name}" AS {sql}')


def _text(name: str, comment: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=nullable, comment=comment)


def _bigint(name: str, comment: str, *, nullable: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), nullable=nullable, comment=comment)


def _integer(name: str, comment: str, *, nullable: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.Integer(), nullable=nullable, comment=comment)


def _double(name: str, comment: str, *, nullable: bool = False) -> sa.Column[float]:
    return sa.Column(name, sa.Double(), nullable=nullable, comment=comment)


def _blob(name: str, comment: str) -> sa.Column[bytes]:
    return sa.Column(name, sa.LargeBinary(), nullable=False, comment=comment)


def _identity(name: str, comment: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer(), sa.Identity(), autoincrement=True, nullable=False, comment=comment)


def _create_tables() -> None:
    op.create_table(
        "alerts",
        _text("run", "history: live, or the name of a replay"),
        _text("model", "name of the model"),
        _text("rule", "name of the rule"),
        _text("version", "version of the model; empty: the whole"),
        _text("segment", "column=value; empty: the whole"),
        _text("window", "window as configured; empty: figures of the cycle itself"),
        _text("subject", "score, feature:NAME, feature:* (a share of them), … or empty"),
        _bigint("since", "as of of the first breach; microseconds UTC"),
        _text("severity", "critical, warning or info"),
        _text("state", "pending, firing or resolved"),
        _bigint("fired_at", "as of at which it fired; microseconds UTC", nullable=True),
        _bigint("resolved_at", "as of at which it ended; microseconds UTC", nullable=True),
        _text("ended", "why it ended: cleared, revised, no_data, removed", nullable=True),
        _bigint("window_end", "end of the window of its newest breach; microseconds UTC"),
        _double("value", "of its newest breach", nullable=True),
        _double("lower", "lower bound of the interval", nullable=True),
        _double("upper", "upper bound of the interval", nullable=True),
        _bigint("n", "records behind the value"),
        _double("limit_", "that the value is beyond", nullable=True),
        _text("cause", "cells that moved, segments or features that contribute most, JSON", nullable=True),
        _bigint("judged_at", "as of of the newest verdict: the revision that it speaks of; microseconds UTC"),
        _text("verdict", "newest verdict, JSON"),
        _bigint("breached", "for how long it has been in breach; microseconds"),
        _bigint("clear_since", "as of since which its verdicts are clear; microseconds UTC", nullable=True),
        _bigint(
            "unknown_since", "as of since which its verdicts are unknown; microseconds UTC", nullable=True
        ),
        _text(
            "told",
            "its breach as it began, fired and became twice as bad, each as of when, JSON",
            nullable=True,
        ),
        sa.PrimaryKeyConstraint(
            "run", "model", "rule", "version", "segment", "window", "subject", "since", name="pk_alerts"
        ),
        comment="alerts, one row an episode: kept for ever",
    )
    op.create_table(
        "configurations",
        _text("hash", "of what is configured, defaults included"),
        _text("model", "name of the model"),
        _text("content", "what is configured, JSON; a value of the environment or of a file is its place"),
        _bigint("created", "when it was first used; microseconds UTC"),
        sa.PrimaryKeyConstraint("hash", name="pk_configurations"),
        comment="configurations of models: kept for ever",
    )
    op.create_table(
        "current_rows",
        _integer("series", "number of the series"),
        _bigint("window_end", "end of the window (exclusive); microseconds UTC"),
        _bigint("as_of", "what was known then; microseconds UTC"),
        _double("value", "NULL: see reason", nullable=True),
        _text("reason", "why there is no value", nullable=True),
        _bigint("n", "records behind the value"),
        _double("lower", "lower bound of the interval", nullable=True),
        _double("upper", "upper bound of the interval", nullable=True),
        _double("level", "probability that the interval holds the true value", nullable=True),
        _double("resolution", "bound of the error due to cells; 0: exact"),
        _double("coverage", "labelled share of the window's records", nullable=True),
        _text("warning", "partial, low_coverage, or empty"),
        _text("detail", "table behind the value, JSON", nullable=True),
        sa.PrimaryKeyConstraint("series", "window_end", name="pk_current_rows"),
        comment="latest measurements, replaced by each cycle; read them in the view current",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "daemons",
        _text("run", "history that it writes"),
        _text("owner", "process"),
        _text("config", "hash of its configuration and code"),
        _bigint("generation", "grows with each other configuration that comes into use"),
        _bigint("expires_at", "by the clock of this database; microseconds UTC"),
        sa.PrimaryKeyConstraint("run", "owner", name="pk_daemons"),
        comment="which daemons share a run, and whose configuration is the newest",
    )
    op.create_table(
        "days",
        _text("run", "history: live, or the name of a replay"),
        _text("model", "name of the model"),
        _text("part", "records or labels"),
        _bigint("start", "start of the day; microseconds UTC"),
        _bigint("until", "its end (exclusive); microseconds UTC"),
        _bigint("due", "as of which it was counted: a function of the day alone; microseconds UTC"),
        _bigint("age", "of its labels then, in days; 0 of records"),
        _text("key", "hash of what is watched: another begins anew"),
        _blob("blob", "its counters, or statistics: see monitor.evidence"),
        sa.PrimaryKeyConstraint("run", "model", "part", "key", "start", name="pk_days"),
        comment="days as they were judged against the false-alarm budget: append-only, once and for good",
    )
    op.create_table(
        "details",
        _identity("id", "its number in other tables"),
        _text("model", "name of the model"),
        _bigint("checksum", "of the text, by which it is found: CRC-32"),
        _text("text", "table behind kept values, JSON"),
        sa.PrimaryKeyConstraint("id", name="pk_details"),
        comment="tables behind kept values, each once: those of the reference stand behind many",
    )
    op.create_index("ix_details_checksum", "details", ["checksum"])
    op.create_table(
        "differences",
        _text("run", "history: live, or the name of a replay"),
        _text("model", "name of the model"),
        _bigint("number", "of this write of labels parts, see models.label_writes"),
        _bigint("as_of", "labels that were known then; microseconds UTC"),
        _text("layout", "hash of what the counters mean"),
        _blob("blob", "see monitor.records.codec"),
        sa.PrimaryKeyConstraint("run", "model", "number", name="pk_differences"),
        comment="what labels have added to panes since these were stored; added to them once a day",
    )
    op.create_table(
        "entries",
        _text("run", "history: live, or the name of a replay"),
        _text("model", "name of the model"),
        _text("comparison", "outcome, sample_ratio or challenger"),
        _text("key", "hash of what is compared: another begins anew"),
        _bigint("start", "start of what entered; microseconds UTC"),
        _bigint("until", "its end (exclusive); microseconds UTC"),
        _bigint("as_of", "as of which it entered; microseconds UTC"),
        _text("entered", "its counts, JSON"),
        _text("total", "counts of all that has entered so far, JSON"),
        _double("most", "logarithm of the most evidence that there was so far"),
        sa.PrimaryKeyConstraint("run", "model", "comparison", "key", "start", name="pk_entries"),
        comment="what has entered the comparisons that go on: each record once, in the order of event time",
    )
    op.create_table(
        "events",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer, "sqlite"),
            autoincrement=True,
            nullable=False,
            comment="grows with each event",
        ),
        _text("run", "history: live, or the name of a replay"),
        _text("model", "name of the model"),
        _bigint("at", "when; microseconds UTC"),
        _text("kind", "what happened: renamed, recounted, forgotten, …"),
        _text("subject", "to what: a version, an old name, or empty"),
        _text("who", "person or process; empty: the service itself"),
        _text("why", "in words, or empty"),
        _text("detail", "figures of the kind, JSON"),
        sa.PrimaryKeyConstraint("id", name="pk_events"),
        comment="what happened to histories: kept for ever",
    )
    op.create_index("ix_events_run", "events", ["run", "model", "kind"])
    op.create_table(
        "leases",
        _text("run", "history: live, or the name of a replay"),
        _text("model", "name of the model"),
        _text("owner", "process that has the model"),
        _bigint("token", "grows with each claim; checked by a commit"),
        _bigint("expires_at", "by the clock of this database; microseconds UTC"),
        sa.PrimaryKeyConstraint("run", "model", name="pk_leases"),
        comment="which process runs a model's cycles",
    )
    op.create_table(
        "models",
        _text("run", "history: live, or the name of a replay"),
        _text("model", "name of the model"),
        _bigint("as_of", "as of the last cycle; microseconds UTC", nullable=True),
        _bigint("first_as_of", "as of the first cycle; microseconds UTC", nullable=True),
        _bigint("oldest", "oldest event time of the log at the first cycle; microseconds UTC", nullable=True),
        _bigint("logged_cursor", "predictions are seen up to here; microseconds UTC", nullable=True),
        _bigint("reported_cursor", "labels are seen up to here; microseconds UTC", nullable=True),
        _bigint("audited_as_of", "as of the last audit; microseconds UTC", nullable=True),
        _bigint(
            "settling_age",
            "age from which windows could settle at the last cycle; microseconds",
            nullable=True,
        ),
        _text(
            "seen_again", "labels by pane that the next search for changes sees again, JSON", nullable=True
        ),
        _text(
            "rows_seen_again", "rows by pane that the next search for changes sees again, JSON", nullable=True
        ),
        _bigint("label_writes", "how often labels parts of panes were written", nullable=True),
        sa.PrimaryKeyConstraint("run", "model", name="pk_models"),
        comment="where the history of a model stands",
    )
    op.create_table(
        "outbox",
        _text(
            "key", "always the same for a notice and a channel: a receiver knows by it what it has already"
        ),
        _text("run", "history: live, or the name of a replay"),
        _text("model", "name of the model"),
        _text("rule", "name of the rule"),
        _text("kind", "firing or resolved"),
        _text("channel", "name of the channel that it goes to"),
        _bigint("as_of", "as of of the cycle that it tells of; microseconds UTC"),
        _text("payload", "what is told, JSON"),
        _bigint("written_at", "when it was written, by the clock of this database; microseconds UTC"),
        _bigint("attempts", "how often it was tried"),
        _bigint("next_at", "not tried before, by that clock; microseconds UTC"),
        _bigint("delivered_at", "when the channel took it, by that clock; microseconds UTC", nullable=True),
        _bigint(
            "given_up_at", "when it was too old to be told, by that clock; microseconds UTC", nullable=True
        ),
        _text("error", "why the channel did not take it last; empty: it did, or was not tried"),
        sa.PrimaryKeyConstraint("key", name="pk_outbox"),
        comment="notices of alerts to channels: written with the alerts, delivered at least once",
    )
    op.create_index("ix_outbox_run", "outbox", ["run", "channel", "as_of"])
    op.create_table(
        "panes",
        _text("run", "history: live, or the name of a replay"),
        _text("model", "name of the model"),
        _text("part", "records or labels"),
        _bigint("start", "start of the pane; microseconds UTC"),
        _text("layout", "hash of what the counters mean"),
        _integer("codec", "version of the blob's format"),
        _bigint("counted_as_of", "as of the last whole count; microseconds UTC"),
        _bigint("rows", "rows read, repeats included; of labels the records"),
        _bigint("newest", "largest logged_at or reported_at read; microseconds UTC", nullable=True),
        _bigint("records", "records of the pane"),
        _bigint("labelled", "of them with a label"),
        _bigint("checksum", "which record has which label: a sum of hashes modulo 2^63"),
        _blob("blob", "counters by stratum, see monitor.records.codec"),
        _bigint(
            "labelled_as_of",
            "as of the last difference of its labels since then; microseconds UTC",
            nullable=True,
        ),
        _text("mapping", "hash of the tables, columns and conditions that it was read by", nullable=True),
        _bigint("holds", "of labels: number of the last difference that is in it", nullable=True),
        sa.PrimaryKeyConstraint("run", "model", "part", "start", name="pk_panes"),
        comment="counted parts of panes",
    )
    op.create_table(
        "provenance",
        _text("run", "history: live, or the name of a replay"),
        _text("model", "name of the model"),
        _bigint("as_of", "as of the cycle; microseconds UTC"),
        _text("grid", "hash of the grids"),
        _text("reference", "hash of the reference; empty: none"),
        _text("config", "hash of the model's configuration"),
        _text("code", "version of the code"),
        _bigint("rows_read", "rows read by the cycle"),
        _bigint("newest_logged_at", "newest logged_at seen; microseconds UTC", nullable=True),
        _bigint("newest_reported_at", "newest reported_at seen; microseconds UTC", nullable=True),
        sa.PrimaryKeyConstraint("run", "model", "as_of", name="pk_provenance"),
        comment="what stood behind the snapshots of one as of",
    )
    op.create_table(
        "references_",
        _text("key", "hash of the reference's specification"),
        _text("model", "name of the model it was made for"),
        _text("hash", "hash of its grids"),
        _text("counting", "grids and reading options, JSON"),
        _blob("records", "counters of its records"),
        _blob("labels", "counters of its labels"),
        _bigint("created", "when it was kept; microseconds UTC"),
        _text("made_of", "what it was made of: file, table, query or time range"),
        sa.PrimaryKeyConstraint("key", name="pk_references_"),
        comment="references: how to count, and what is compared against",
    )
    op.create_table(
        "series",
        _identity("id", "its number in other tables"),
        _text("run", "history: live, or the name of a replay"),
        _text("model", "name of the model"),
        _text("window", "window as configured (7d, month); empty: figures of the cycle itself"),
        _text("truth", "settled, provisional or nowcast; empty: stands on no labels"),
        _text("version", "version of the model; empty: the whole"),
        _text("segment", "column=value; empty: the whole"),
        _text("measure", "name in the catalogue of measures"),
        _text("subject", "score, prediction, label, feature:NAME, class:NAME or empty"),
        _text(
            "against", "what the value is the difference from: reference, previous, 28d; empty: it is none"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_series"),
        sa.UniqueConstraint(
            "run",
            "model",
            "measure",
            "window",
            "subject",
            "segment",
            "version",
            "truth",
            "against",
            name="uq_series",
        ),
        comment="what is measured again and again: all that names a value but its moment",
    )
    op.create_table(
        "waiting",
        _text("run", "history: live, or the name of a replay"),
        _text("model", "name of the model"),
        _text("part", "records or labels"),
        _bigint("start", "start of the pane; microseconds UTC"),
        _bigint("since", "as of at which it was first seen changed; microseconds UTC"),
        sa.PrimaryKeyConstraint("run", "model", "part", "start", name="pk_waiting"),
        comment="parts of panes that changed in the source and are not yet counted again",
    )
    op.create_table(
        "windows",
        _text("run", "history: live, or the name of a replay"),
        _text("model", "name of the model"),
        _text("window", "window as configured"),
        _bigint("window_end", "end of the window (exclusive); microseconds UTC"),
        _bigint("first_as_of", "as of its first measurement; microseconds UTC"),
        _bigint("settled_as_of", "as of which enough labels were in; microseconds UTC", nullable=True),
        _bigint("measured_as_of", "as of its last measurement; microseconds UTC", nullable=True),
        _bigint("records_seen", "rows behind it when it was last measured"),
        _bigint(
            "labels_seen", "checksum of its panes' labels when it was last measured, compared for equality"
        ),
        _text("warning", "partial, low_coverage, or empty"),
        sa.PrimaryKeyConstraint("run", "model", "window", "window_end", name="pk_windows"),
        comment="what has happened to the kept windows",
    )
    op.create_table(
        "row_sets",
        _identity("id", "its number in other tables"),
        _text("run", "history: live, or the name of a replay"),
        _text("model", "name of the model"),
        _text("window", "window as configured (7d, month); empty: figures of the cycle itself"),
        _bigint("window_end", "end of the window (exclusive); microseconds UTC"),
        _bigint("as_of", "what was known then; microseconds UTC"),
        _double("level", "probability that the interval holds the true value", nullable=True),
        _double("coverage", "labelled share of the window's records", nullable=True),
        _text("warning", "partial, low_coverage, or empty"),
        sa.PrimaryKeyConstraint("id", name="pk_row_sets"),
        sa.ForeignKeyConstraint(
            ["run", "model", "as_of"],
            ["provenance.run", "provenance.model", "provenance.as_of"],
            name="fk_row_sets_provenance",
        ),
        comment="what kept measurements of a window have alike; its revision is the rank by as of",
    )
    op.create_index("ix_row_sets_run", "row_sets", ["run", "model", "window", "window_end", "as_of"])
    op.create_table(
        "snapshot_rows",
        _integer("row_set", "number of the row set"),
        _integer("series", "number of the series"),
        _double("value", "NULL: see reason", nullable=True),
        _text("reason", "why there is no value", nullable=True),
        _bigint("n", "records behind the value"),
        _double("lower", "lower bound of the interval", nullable=True),
        _double("upper", "upper bound of the interval", nullable=True),
        _double("resolution", "bound of the error due to cells; 0: exact"),
        _integer("detail", "number of the table behind the value", nullable=True),
        sa.PrimaryKeyConstraint("row_set", "series", name="pk_snapshot_rows"),
        sa.ForeignKeyConstraint(["row_set"], ["row_sets.id"], name="fk_snapshot_rows_row_sets"),
        comment="kept measurements, append-only; read them in the view snapshots",
        sqlite_with_rowid=False,
    )


def _listed(names: tuple[str, ...], table: str = "") -> str:
    return ", ".join(f'{table}"{name}"' for name in names)


def _same(names: tuple[str, ...], one: str, other: str) -> str:
    return " AND ".join(f'{one}."{name}" = {other}."{name}"' for name in names)


def _describe_sizes() -> None:
    """What ANALYZE would find in a store of some years: SQLite chooses by it where a query begins."""
    op.execute("ANALYZE sqlite_schema")  # makes the table
    for (table, index), sizes in _STATISTICS.items():
        op.execute(f"DELETE FROM sqlite_stat1 WHERE tbl = '{table}'")
        op.execute(f"INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('{table}', '{index}', '{sizes}')")


def _views(dialect: str) -> dict[str, str]:
    window_end, as_of = (_TIMES[dialect].format(column=name) for name in ("m.window_end", "m.as_of"))
    moments = f"{window_end} AS window_end_time, {as_of} AS as_of_time"
    named = f"{_listed(('run', 'model', 'window'), 's.')}, m.window_end, m.as_of, {_listed(_IDENTITY, 's.')}"
    of_current = f"SELECT {named}, {_listed(_VALUES, 'm.')}, {moments} FROM current_rows AS m"
    tables = dict.fromkeys(_OWN, "k.") | dict.fromkeys(_SHARED, "m.")
    values = ", ".join(_listed((name,), tables[name]) for name in _VALUES[:-1])
    kept = f"SELECT {named}, {values}, d.text AS detail, {moments} FROM snapshot_rows AS k"
    # run, model and window of both: whichever a query begins with, it finds by an index
    owner = _same(("run", "model", "window"), "m", "s")
    other = f"SELECT 1 FROM snapshots AS n WHERE {_same(_LATEST, 'n', 's')}"
    newer = f"{other} AND n.as_of > s.as_of AND (n.truth = 'nowcast') = (s.truth = 'nowcast')"
    settled = f"s.truth = 'nowcast' AND EXISTS ({other} AND n.truth = 'settled')"
    return {
        "current": f"{of_current} JOIN series AS s ON s.id = m.series",
        "snapshots": f"{kept} JOIN row_sets AS m ON m.id = k.row_set "
        f"JOIN series AS s ON s.id = k.series AND {owner} LEFT JOIN details AS d ON d.id = k.detail",
        "snapshots_latest": f"SELECT s.* FROM snapshots AS s WHERE NOT EXISTS ({newer}) AND NOT ({settled})",
    }
