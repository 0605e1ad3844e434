"""Tables of the store: plain, one row a fact, made for an analyst's SQL.

Times are BIGINT microseconds since 1970-01-01 UTC. As a date in a query:
``datetime(s.window_end / 1e6, 'unixepoch')`` on SQLite, ``to_timestamp(s.window_end / 1e6)`` on PostgreSQL.
`window` is a reserved word of PostgreSQL: write it qualified, as in ``s.window``.

`version` and `segment` are part of keys, where NULLs would never collide: in the tables the whole has
the empty text in both, in the rows of `specs.rows` it has None.

The tables are made by `migrations/`; a test holds both equal.
"""

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
)

from monitor.store.damage import guarded

NAMES = {
    "pk": "pk_%(table_name)s",
    "fk": "fk_%(table_name)s_%(referred_table_name)s",
    "ix": "ix_%(table_name)s_%(column_0_name)s",
}
METADATA = MetaData(naming_convention=NAMES)


def _key(comment: str, name: str) -> Column[str]:
    return Column(name, Text, nullable=False, comment=comment)


def _owner() -> tuple[Column[str], Column[str]]:
    return _key("history: live, or the name of a replay", "run"), _key("name of the model", "model")


def _time(name: str, comment: str, *, nullable: bool = False) -> Column[int]:
    return Column(name, BigInteger, nullable=nullable, comment=f"{comment}; microseconds UTC")


def _count(name: str, comment: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False, comment=comment)


def _measurement() -> tuple[Column[float] | Column[str] | Column[int], ...]:
    """Columns that `current` and `snapshots` share."""
    return (
        _key("window as configured (7d, month); empty: figures of the cycle itself", "window"),
        _time("window_end", "end of the window (exclusive)"),
        _time("as_of", "what was known at this moment"),
        _key("settled or provisional labels; empty: stands on no labels", "truth"),
        _key("version of the model; empty: the whole", "version"),
        _key("column=value; empty: the whole", "segment"),
        _key("name in the catalogue of measures", "measure"),
        _key("score, prediction, label, feature:NAME, class:NAME or empty", "subject"),
        _key("what the value is the difference from: reference, previous, 28d; empty: it is none", "against"),
        Column("value", Double, comment="NULL: see reason"),
        Column("reason", Text, comment="why there is no value"),
        _count("n", "records behind the value"),
        Column("lower", Double, comment="lower bound of the interval"),
        Column("upper", Double, comment="upper bound of the interval"),
        Column("level", Double, comment="probability that the interval holds the true value"),
        Column("resolution", Double, nullable=False, comment="bound of the error due to cells; 0: exact"),
        Column("coverage", Double, comment="labelled share of the window's records"),
        _key("partial, low_coverage, or empty", "warning"),
        Column("detail", Text, comment="table behind the value, JSON"),
    )


panes = Table(
    "panes",
    METADATA,
    *_owner(),
    _key("records or labels", "part"),
    _time("start", "start of the pane"),
    _key("hash of what the counters mean", "layout"),
    Column("codec", Integer, nullable=False, comment="version of the blob's format"),
    _time("counted_as_of", "as of the last whole count"),
    _count("rows", "rows read, repeats included; of labels the records"),
    _time("newest", "largest logged_at or reported_at read", nullable=True),
    _count("records", "records of the pane"),
    _count("labelled", "of them with a label"),
    _count("checksum", "which record has which label: a sum of hashes modulo 2^63"),
    Column("blob", LargeBinary, nullable=False, comment="counters by stratum, see monitor.records.codec"),
    _time("labelled_as_of", "as of the last difference of its labels since then", nullable=True),
    Column("mapping", Text, comment="hash of the tables, columns and conditions that it was read by"),
    Column("holds", BigInteger, comment="of labels: number of the last difference that is in it"),
    PrimaryKeyConstraint("run", "model", "part", "start"),
    comment="counted parts of panes",
)

differences = Table(
    "differences",
    METADATA,
    *_owner(),
    _count("number", "of this write of labels parts, see models.label_writes"),
    _time("as_of", "labels that were known then"),
    _key("hash of what the counters mean", "layout"),
    Column("blob", LargeBinary, nullable=False, comment="see monitor.records.codec"),
    PrimaryKeyConstraint("run", "model", "number"),
    comment="what labels have added to panes since these were stored; added to them once a day",
)

waiting = Table(
    "waiting",
    METADATA,
    *_owner(),
    _key("records or labels", "part"),
    _time("start", "start of the pane"),
    _time("since", "as of at which it was first seen changed"),
    PrimaryKeyConstraint("run", "model", "part", "start"),
    comment="parts of panes that changed in the source and are not yet counted again",
)

models = Table(
    "models",
    METADATA,
    *_owner(),
    _time("as_of", "as of the last cycle", nullable=True),
    _time("first_as_of", "as of the first cycle", nullable=True),
    _time("oldest", "oldest event time of the log at the first cycle", nullable=True),
    _time("logged_cursor", "predictions are seen up to here", nullable=True),
    _time("reported_cursor", "labels are seen up to here", nullable=True),
    _time("audited_as_of", "as of the last audit", nullable=True),
    Column(
        "settling_age",
        BigInteger,
        comment="age from which windows could settle at the last cycle; microseconds",
    ),
    Column("seen_again", Text, comment="labels by pane that the next search for changes sees again, JSON"),
    Column("rows_seen_again", Text, comment="rows by pane that the next search for changes sees again, JSON"),
    Column("label_writes", BigInteger, comment="how often labels parts of panes were written"),
    PrimaryKeyConstraint("run", "model"),
    comment="where the history of a model stands",
)

windows = Table(
    "windows",
    METADATA,
    *_owner(),
    _key("window as configured", "window"),
    _time("window_end", "end of the window (exclusive)"),
    _time("first_as_of", "as of its first measurement"),
    _time("settled_as_of", "as of which enough labels were in", nullable=True),
    _time("measured_as_of", "as of its last measurement", nullable=True),
    _count("records_seen", "rows behind it when it was last measured"),
    _count("labels_seen", "checksum of its panes' labels when it was last measured, compared for equality"),
    _key("partial, low_coverage, or empty", "warning"),
    PrimaryKeyConstraint("run", "model", "window", "window_end"),
    comment="what has happened to the kept windows",
)

current = Table(
    "current",
    METADATA,
    *_owner(),
    *_measurement(),
    PrimaryKeyConstraint(
        "run", "model", "window", "window_end", "segment", "version", "truth", "measure", "subject", "against"
    ),
    comment="latest measurements, replaced by each cycle",
    sqlite_with_rowid=False,
)

provenance = Table(
    "provenance",
    METADATA,
    *_owner(),
    _time("as_of", "as of the cycle"),
    _key("hash of the grids", "grid"),
    _key("hash of the reference; empty: none", "reference"),
    _key("hash of the model's configuration", "config"),
    _key("version of the code", "code"),
    _count("rows_read", "rows read by the cycle"),
    _time("newest_logged_at", "newest logged_at seen", nullable=True),
    _time("newest_reported_at", "newest reported_at seen", nullable=True),
    PrimaryKeyConstraint("run", "model", "as_of"),
    comment="what stood behind the snapshots of one as of",
)

snapshots = Table(
    "snapshots",
    METADATA,
    *_owner(),
    *_measurement(),
    PrimaryKeyConstraint(
        "run",
        "model",
        "window",
        "window_end",
        "segment",
        "version",
        "as_of",
        "truth",
        "measure",
        "subject",
        "against",
    ),
    ForeignKeyConstraint(
        ["run", "model", "as_of"], ["provenance.run", "provenance.model", "provenance.as_of"]
    ),
    # in the key's order the whole's rows of a window lie together, which is what a cycle compares with;
    # a second index would cost a third of the space, and read a year's history little faster
    comment="kept measurements; append-only, the revision of a window is the rank by as_of",
    sqlite_with_rowid=False,
)

entries = Table(
    "entries",
    METADATA,
    *_owner(),
    _key("outcome, sample_ratio or challenger", "comparison"),
    _key("hash of what is compared: another begins anew", "key"),
    _time("start", "start of what entered"),
    _time("until", "its end (exclusive)"),
    _time("as_of", "as of which it entered"),
    _key("its counts, JSON", "entered"),
    _key("counts of all that has entered so far, JSON", "total"),
    Column("most", Double, nullable=False, comment="logarithm of the most evidence that there was so far"),
    PrimaryKeyConstraint("run", "model", "comparison", "key", "start"),
    comment="what has entered the comparisons that go on: each record once, in the order of event time",
)

references = Table(
    "references_",
    METADATA,
    _key("hash of the reference's specification", "key"),
    _key("name of the model it was made for", "model"),
    _key("hash of its grids", "hash"),
    _key("grids and reading options, JSON", "counting"),
    Column("records", LargeBinary, nullable=False, comment="counters of its records"),
    Column("labels", LargeBinary, nullable=False, comment="counters of its labels"),
    _time("created", "when it was kept"),
    _key("what it was made of: file, table, query or time range", "made_of"),
    PrimaryKeyConstraint("key"),
    comment="references: how to count, and what is compared against",
)

configurations = Table(
    "configurations",
    METADATA,
    _key("of what is configured, defaults included", "hash"),
    _key("name of the model", "model"),
    _key("what is configured, JSON; a value of the environment or of a file is its place", "content"),
    _time("created", "when it was first used"),
    PrimaryKeyConstraint("hash"),
    comment="configurations of models: kept for ever",
)

leases = Table(
    "leases",
    METADATA,
    *_owner(),
    _key("process that has the model", "owner"),
    _count("token", "grows with each claim; checked by a commit"),
    _time("expires_at", "by the clock of this database"),
    PrimaryKeyConstraint("run", "model"),
    comment="which process runs a model's cycles",
)

daemons = Table(
    "daemons",
    METADATA,
    _key("history that it writes", "run"),
    _key("process", "owner"),
    _key("hash of its configuration and code", "config"),
    _count("generation", "grows with each other configuration that comes into use"),
    _time("expires_at", "by the clock of this database"),
    PrimaryKeyConstraint("run", "owner"),
    comment="which daemons share a run, and whose configuration is the newest",
)

events = Table(
    "events",
    METADATA,
    Column(
        "id",
        BigInteger().with_variant(Integer, "sqlite"),  # SQLite numbers rows by an INTEGER key only
        autoincrement=True,
        nullable=False,
        comment="grows with each event",
    ),
    *_owner(),
    _time("at", "when"),
    _key("what happened: renamed, recounted, forgotten, …", "kind"),
    _key("to what: a version, an old name, or empty", "subject"),
    _key("person or process; empty: the service itself", "who"),
    _key("in words, or empty", "why"),
    _key("figures of the kind, JSON", "detail"),
    PrimaryKeyConstraint("id"),
    Index(None, "run", "model", "kind"),
    comment="what happened to histories: kept for ever",
)

alerts = Table(
    "alerts",
    METADATA,
    *_owner(),
    _key("name of the rule", "rule"),
    _key("version of the model; empty: the whole", "version"),
    _key("column=value; empty: the whole", "segment"),
    _key("window as configured; empty: figures of the cycle itself", "window"),
    _key("score, feature:NAME, feature:* (a share of them), … or empty", "subject"),
    _time("since", "as of of the first breach"),
    _key("critical, warning or info", "severity"),
    _key("pending, firing or resolved", "state"),
    _time("fired_at", "as of at which it fired", nullable=True),
    _time("resolved_at", "as of at which it ended", nullable=True),
    Column("ended", Text, comment="why it ended: cleared, revised, no_data, removed"),
    _time("window_end", "end of the window of its newest breach"),
    Column("value", Double, comment="of its newest breach"),
    Column("lower", Double, comment="lower bound of the interval"),
    Column("upper", Double, comment="upper bound of the interval"),
    _count("n", "records behind the value"),
    Column("limit_", Double, comment="that the value is beyond"),
    Column("cause", Text, comment="cells that moved, segments or features that contribute most, JSON"),
    _time("judged_at", "as of of the newest verdict: the revision that it speaks of"),
    _key("newest verdict, JSON", "verdict"),
    _count("breached", "for how long it has been in breach; microseconds"),
    _time("clear_since", "as of since which its verdicts are clear", nullable=True),
    _time("unknown_since", "as of since which its verdicts are unknown", nullable=True),
    PrimaryKeyConstraint("run", "model", "rule", "version", "segment", "window", "subject", "since"),
    comment="alerts, one row an episode: kept for ever",
)

outbox = Table(
    "outbox",
    METADATA,
    _key("always the same for a notice and a channel: a receiver knows by it what it has already", "key"),
    *_owner(),
    _key("name of the rule", "rule"),
    _key("firing or resolved", "kind"),
    _key("name of the channel that it goes to", "channel"),
    _time("as_of", "as of of the cycle that it tells of"),
    _key("what is told, JSON", "payload"),
    _time("written_at", "when it was written, by the clock of this database"),
    _count("attempts", "how often it was tried"),
    _time("next_at", "not tried before, by that clock"),
    _time("delivered_at", "when the channel took it, by that clock", nullable=True),
    _time("given_up_at", "when it was too old to be told, by that clock", nullable=True),
    _key("why the channel did not take it last; empty: it did, or was not tried", "error"),
    PrimaryKeyConstraint("key"),
    Index(None, "run", "channel", "as_of"),
    comment="notices of alerts to channels: written with the alerts, delivered at least once",
)

guarded(METADATA, outer=frozenset({leases.name}))
