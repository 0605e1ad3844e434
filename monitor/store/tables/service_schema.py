"""Tables of what is counted, referred to, coordinated and told."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
)

from monitor.store.tables.shared_columns import METADATA, count_column, key_column, owner_columns, time_column


def _model_table(name: str, *columns: Column[Any], key: Sequence[str] = (), comment: str) -> Table:
    """Table of rows of models: run and model stand first, and in front of the key."""
    primary = PrimaryKeyConstraint("run", "model", *key)
    return Table(name, METADATA, *owner_columns(), *columns, primary, comment=comment)


panes = _model_table(
    "panes",
    key_column("records or labels", "part"),
    time_column("start", "start of the pane"),
    key_column("hash of what the counters mean", "layout"),
    Column("codec", Integer, nullable=False, comment="version of the blob's format"),
    time_column("counted_as_of", "as of the last whole count"),
    count_column("rows", "rows read, repeats included; of labels the records"),
    time_column("newest", "largest logged_at or reported_at read", nullable=True),
    count_column("records", "records of the pane"),
    count_column("labelled", "of them with a label"),
    count_column("checksum", "which record has which label: a sum of hashes modulo 2^63"),
    Column("blob", LargeBinary, nullable=False, comment="counters by stratum, see monitor.records.codec"),
    time_column("labelled_as_of", "as of the last difference of its labels since then", nullable=True),
    Column("mapping", Text, comment="hash of the tables, columns and conditions that it was read by"),
    Column("holds", BigInteger, comment="of labels: number of the last difference that is in it"),
    key=("part", "start"),
    comment="counted parts of panes",
)

differences = _model_table(
    "differences",
    count_column("number", "of this write of labels parts, see models.label_writes"),
    time_column("as_of", "labels that were known then"),
    key_column("hash of what the counters mean", "layout"),
    Column("blob", LargeBinary, nullable=False, comment="see monitor.records.codec"),
    key=("number",),
    comment="what labels have added to panes since these were stored; added to them once a day",
)

waiting = _model_table(
    "waiting",
    key_column("records or labels", "part"),
    time_column("start", "start of the pane"),
    time_column("since", "as of at which it was first seen changed"),
    key=("part", "start"),
    comment="parts of panes that changed in the source and are not yet counted again",
)

models = _model_table(
    "models",
    time_column("as_of", "as of the last cycle", nullable=True),
    time_column("first_as_of", "as of the first cycle", nullable=True),
    time_column("oldest", "oldest event time of the log at the first cycle", nullable=True),
    time_column("logged_cursor", "predictions are seen up to here", nullable=True),
    time_column("reported_cursor", "labels are seen up to here", nullable=True),
    time_column("audited_as_of", "as of the last audit", nullable=True),
    Column(
        "settling_age",
        BigInteger,
        comment="age from which windows could settle at the last cycle; microseconds",
    ),
    Column("seen_again", Text, comment="labels by pane that the next search for changes sees again, JSON"),
    Column("rows_seen_again", Text, comment="rows by pane that the next search for changes sees again, JSON"),
    Column("label_writes", BigInteger, comment="how often labels parts of panes were written"),
    Column("position", Text, comment="where the files of the source stood at the last cycle, JSON"),
    comment="where the history of a model stands",
)

windows = _model_table(
    "windows",
    key_column("window as configured", "window"),
    time_column("window_end", "end of the window (exclusive)"),
    time_column("first_as_of", "as of its first measurement"),
    time_column("settled_as_of", "as of which enough labels were in", nullable=True),
    time_column("measured_as_of", "as of its last measurement", nullable=True),
    count_column("records_seen", "rows behind it when it was last measured"),
    count_column(
        "labels_seen", "checksum of its panes' labels when it was last measured, compared for equality"
    ),
    key_column("partial, low_coverage, or empty", "warning"),
    key=("window", "window_end"),
    comment="what has happened to the kept windows",
)

provenance = _model_table(
    "provenance",
    time_column("as_of", "as of the cycle"),
    key_column("hash of the grids", "grid"),
    key_column("hash of the reference; empty: none", "reference"),
    key_column("hash of the model's configuration", "config"),
    key_column("version of the code", "code"),
    count_column("rows_read", "rows read by the cycle"),
    time_column("newest_logged_at", "newest logged_at seen", nullable=True),
    time_column("newest_reported_at", "newest reported_at seen", nullable=True),
    key=("as_of",),
    comment="what stood behind the snapshots of one as of",
)

entries = _model_table(
    "entries",
    key_column("outcome, sample_ratio or challenger", "comparison"),
    key_column("hash of what is compared: another begins anew", "key"),
    time_column("start", "start of what entered"),
    time_column("until", "its end (exclusive)"),
    time_column("as_of", "as of which it entered"),
    key_column("its counts, JSON", "entered"),
    key_column("counts of all that has entered so far, JSON", "total"),
    Column("most", Double, nullable=False, comment="logarithm of the most evidence that there was so far"),
    key=("comparison", "key", "start"),
    comment="what has entered the comparisons that go on: each record once, in the order of event time",
)

days = _model_table(
    "days",
    key_column("records or labels", "part"),
    time_column("start", "start of the day"),
    time_column("until", "its end (exclusive)"),
    time_column("due", "as of which it was counted: a function of the day alone"),
    count_column("age", "of its labels then, in days; 0 of records"),
    key_column("hash of what is watched: another begins anew", "key"),
    Column("blob", LargeBinary, nullable=False, comment="its counters, or statistics: see monitor.evidence"),
    key=("part", "key", "start"),
    comment="days as they were judged against the false-alarm budget: append-only, once and for good",
)

references = Table(
    "references_",
    METADATA,
    key_column("hash of the reference's specification", "key"),
    key_column("name of the model it was made for", "model"),
    key_column("hash of its grids", "hash"),
    key_column("grids and reading options, JSON", "counting"),
    Column("records", LargeBinary, nullable=False, comment="counters of its records"),
    Column("labels", LargeBinary, nullable=False, comment="counters of its labels"),
    time_column("created", "when it was kept"),
    key_column("what it was made of: file, table, query or time range", "made_of"),
    Column(
        "effects",
        LargeBinary,
        nullable=True,
        comment="effect table of its features; NULL: nobody has looked",
    ),
    PrimaryKeyConstraint("key"),
    comment="references: how to count, and what is compared against",
)

configurations = Table(
    "configurations",
    METADATA,
    key_column("of what is configured, defaults included", "hash"),
    key_column("name of the model", "model"),
    key_column("what is configured, JSON; a value of the environment or of a file is its place", "content"),
    time_column("created", "when it was first used"),
    PrimaryKeyConstraint("hash"),
    comment="configurations of models: kept for ever",
)

leases = _model_table(
    "leases",
    key_column("process that has the model", "owner"),
    count_column("token", "grows with each claim; checked by a commit"),
    time_column("expires_at", "by the clock of this database"),
    comment="which process runs a model's cycles",
)

daemons = Table(
    "daemons",
    METADATA,
    key_column("history that it writes", "run"),
    key_column("process", "owner"),
    key_column("hash of its configuration and code", "config"),
    count_column("generation", "grows with each other configuration that comes into use"),
    time_column("expires_at", "by the clock of this database"),
    PrimaryKeyConstraint("run", "owner"),
    comment="which daemons share a run, and whose configuration is the newest",
)

troubles = _model_table(
    "troubles",
    time_column("as_of", "of its last cycle"),
    time_column("since", "as of of the first"),
    count_column("failed", "cycles that failed in a row; 0: none did"),
    Column("told", Text, nullable=False, comment="what it is, in words"),
    comment="what stands in the way of a model's cycles, as long as it does",
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
    *owner_columns(),
    time_column("at", "when"),
    key_column("what happened: renamed, recounted, forgotten, …", "kind"),
    key_column("to what: a version, an old name, or empty", "subject"),
    key_column("person or process; empty: the service itself", "who"),
    key_column("in words, or empty", "why"),
    key_column("figures of the kind, JSON", "detail"),
    PrimaryKeyConstraint("id"),
    Index(None, "run", "model", "kind"),
    comment="what happened to histories: kept for ever",
)

alerts = _model_table(
    "alerts",
    key_column("name of the rule", "rule"),
    key_column("version of the model; empty: the whole", "version"),
    key_column("column=value; empty: the whole", "segment"),
    key_column("window as configured; empty: figures of the cycle itself", "window"),
    key_column("score, feature:NAME, feature:* (a share of them), … or empty", "subject"),
    time_column("since", "as of of the first breach"),
    key_column("critical, warning or info", "severity"),
    key_column("pending, firing or resolved", "state"),
    time_column("fired_at", "as of at which it fired", nullable=True),
    time_column("resolved_at", "as of at which it ended", nullable=True),
    Column("ended", Text, comment="why it ended: cleared, revised, no_data, removed"),
    time_column("window_end", "end of the window of its newest breach"),
    Column("value", Double, comment="of its newest breach"),
    Column("lower", Double, comment="lower bound of the interval"),
    Column("upper", Double, comment="upper bound of the interval"),
    count_column("n", "records behind the value"),
    Column("limit_", Double, comment="that the value is beyond"),
    Column("cause", Text, comment="cells that moved, segments or features that contribute most, JSON"),
    time_column("judged_at", "as of of the newest verdict: the revision that it speaks of"),
    key_column("newest verdict, JSON", "verdict"),
    count_column("breached", "for how long it has been in breach; microseconds"),
    time_column("clear_since", "as of since which its verdicts are clear", nullable=True),
    time_column("unknown_since", "as of since which its verdicts are unknown", nullable=True),
    Column(
        "told", Text, comment="its breach as it began, fired and became twice as bad, each as of when, JSON"
    ),
    key=("rule", "version", "segment", "window", "subject", "since"),
    comment="alerts, one row an episode: kept for ever",
)

incidents = _model_table(
    "incidents",
    key_column("first day and kind as it opened: never changes", "address"),
    time_column("first_day", "start of the first day that it opened with"),
    key_column("records, labels, performance, inputs missing, …: the worst of its alerts", "kind"),
    key_column("of the worst alert that fires, of one that is over the worst of all", "severity"),
    time_column("opened_at", "as of at which its first alert fired"),
    time_column("resolved_at", "as of at which it was over", nullable=True),
    key_column("its alerts and when each joined and left, JSON", "members"),
    key_column("when it opened, grew and was over, JSON", "steps"),
    key=("address",),
    comment="incidents, alerts of one cause, one row from first to last: kept for ever",
)

messages = _model_table(
    "messages",
    key_column("address of the incident", "incident"),
    key_column("name of the channel that it stands in", "channel"),
    key_column("by what the channel finds it, and where it was posted, no secret", "message"),
    key=("incident", "channel"),
    comment="messages of incidents that channels edit as these grow, until they are over",
)

outbox = Table(
    "outbox",
    METADATA,
    key_column(
        "always the same for a notice and a channel: a receiver knows by it what it has already", "key"
    ),
    *owner_columns(),
    key_column("address of the incident", "incident"),
    key_column("opened, grew or resolved", "kind"),
    key_column("name of the channel that it goes to", "channel"),
    time_column("as_of", "as of of the cycle that it tells of"),
    key_column("what is told, JSON", "payload"),
    time_column("written_at", "when it was written, by the clock of this database"),
    count_column("attempts", "how often it was tried"),
    time_column("next_at", "not tried before, by that clock"),
    time_column("delivered_at", "when the channel took it, by that clock", nullable=True),
    time_column("given_up_at", "when it was too old to be told, by that clock", nullable=True),
    key_column("why the channel did not take it last; empty: it did, or was not tried", "error"),
    PrimaryKeyConstraint("key"),
    Index(None, "run", "channel", "as_of"),
    comment="notices of incidents to channels: written with them, delivered at least once",
)
